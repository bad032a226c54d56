package discord_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/channelstest"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

// expectContent fails the test if a file does not hold exactly this.
func expectContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %.40q, %v", path, got, err)
	}
}

func TestFilesOfEveryKindAreDownloadedAtOnce(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	names := []string{"photo.png", "clip.mp4", "song.mp3", "voice-message.ogg", "paper.pdf", "photo.png", "../../etc/passwd", "große Übersicht.csv"}
	var files []discordtest.File
	for _, n := range names {
		files = append(files, discordtest.File{Name: n, Content: []byte("what is in " + n)})
	}
	r.server.UserSends(r.dm, ada, "look", files...)
	got := r.onlyMessage()
	if got.Text != "look" || len(got.Media) != len(names) {
		t.Fatalf("got %+v", got)
	}
	folder := filepath.Join(r.dir, r.dm, "media")
	seen := map[string]bool{}
	for i, path := range got.Media {
		expectContent(t, path, "what is in "+names[i])
		if !filepath.IsAbs(path) || filepath.Dir(path) != folder || seen[path] || filepath.Ext(path) != filepath.Ext(names[i]) {
			t.Errorf("%s is at %s", names[i], path)
		}
		seen[path] = true
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != len(names) {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestAFileThatIsTooBigIsNamedToAgentAndSender(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	m := r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "film.mkv", Size: 60_000_000}, discordtest.File{Name: "a.txt", Content: []byte("a")})
	got := r.onlyMessage()
	const want = `⚠ "film.mkv" (60.0 MB) was not received: it is larger than 50.0 MB.`
	if got.Text != "look\n"+want || len(got.Media) != 1 {
		t.Errorf("got %+v", got)
	}
	shown := r.server.WaitForText(t, r.dm, want)
	if shown.Reference == nil || shown.Reference.MessageID != m.ID {
		t.Errorf("the notice refers to %+v", shown.Reference)
	}
	wanttest.Equal(t, "files were downloaded:", len(r.server.Calls(discordtest.CDN)), 1)
}

func TestAFileBeyondTheLimitOfTheChatIsNamedToAgentAndSender(t *testing.T) {
	r := newTestChannel(t)
	files := channelstest.NewFiles()
	files.SetMaxBytes(10)
	r.SetFiles(files)
	r.startConnected()
	r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "a.txt", Content: []byte("123456")}, discordtest.File{Name: "b.txt", Content: []byte("12345")})
	got := r.onlyMessage()
	const want = `⚠ "b.txt" was not received: the files that this chat has sent may have up to 10 bytes together; have the bot delete some of them.`
	if got.Text != "look\n"+want || len(got.Media) != 1 {
		t.Errorf("the agent receives %+v", got)
	}
	r.server.WaitForText(t, r.dm, want)
}

func TestAFailedDownloadIsReported(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext(discordtest.CDN, discordtest.ErrorResponse(404, 0, "gone"))
	r.startConnected()
	r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "a.txt", Content: []byte("a")})
	got := r.onlyMessage()
	if got.Text != "look\n⚠ \"a.txt\" was not received: its download failed." || len(got.Media) != 0 {
		t.Errorf("got %+v", got)
	}
	r.server.WaitForText(t, r.dm, "⚠ \"a.txt\" was not received: its download failed.")
}

func TestTheTokenIsNotSentToWhereFilesAre(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "a.txt", Content: []byte("a")})
	r.WaitForMessages(1)
	for _, v := range r.server.Violations() {
		t.Errorf("violation: %s", v)
	}
}

// A download takes its time; what is said after it in the same chat waits, and other chats do not.
func TestASlowDownloadHoldsUpItsChatOnly(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	hang := make(chan struct{})
	r.server.FailNext(discordtest.CDN, discordtest.Fault{HangUntil: hang})
	r.server.UserSends(r.dm, ada, "with a file", discordtest.File{Name: "a.txt", Content: []byte("a")})
	r.server.UserSends(r.dm, ada, "after it")
	r.server.UserSends(r.server.DM(bob).ID, bob, "elsewhere")
	if got := textsOf(r.WaitForMessages(1)); got[0] != "elsewhere" {
		t.Errorf("got %q", got)
	}
	close(hang)
	wanttest.Equal(t, "got", strings.Join(textsOf(r.WaitForMessages(3)), ", "), "elsewhere, with a file, after it")
}

func TestAFileThatWasDownloadedBeforeIsNotDownloadedAgain(t *testing.T) {
	r := newTestChannel(t)
	stop := r.startConnected()
	r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "a.txt", Content: []byte("a")})
	first := r.WaitForMessages(1)[0]
	stop()
	again := r.restartWithoutCursor()
	again.Resume(first.Cursor)
	again.start()
	if got := again.WaitForMessages(1)[0]; got.ID != first.ID || got.Media[0] != first.Media[0] {
		t.Errorf("got %+v, then %+v", first, got)
	}
	wanttest.Equal(t, "it was downloaded … times:", len(r.server.Calls(discordtest.CDN)), 1)
}
