package telegram_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// expectContent fails the test unless a file has this content.
func expectContent(t *testing.T, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content || !filepath.IsAbs(path) {
		t.Errorf("%s contains %.40q, want %.40q (%v)", path, got, content, err)
	}
}

func TestEveryKindOfFileIsDownloaded(t *testing.T) {
	for kind, ext := range map[string]string{
		"photo": ".jpg", "video": ".mp4", "animation": ".mp4", "audio": ".mp3", "voice": ".ogg", "video_note": ".mp4",
		"document": ".bin", "sticker": ".webp",
	} {
		t.Run(kind, func(t *testing.T) {
			r := newTestChannel(t)
			media := &telegramtest.Media{Kind: kind, Content: []byte("what is in the " + kind), Emoji: "😀"}
			if kind == "document" {
				media.Name = "data.bin"
			}
			r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "look", Media: media})
			r.start()
			got := r.onlyMessage()
			if len(got.Media) != 1 || filepath.Ext(got.Media[0]) != ext || !strings.HasPrefix(got.Text, "look") {
				t.Fatalf("received %+v", got)
			}
			expectContent(t, got.Media[0], "what is in the "+kind)
			if dir := filepath.Join(r.dir, "42", "media"); filepath.Dir(got.Media[0]) != dir {
				t.Errorf("%s is not in %s", got.Media[0], dir)
			}
		})
	}
}

func TestAPhotoIsTakenInItsLargestSize(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "photo", Content: []byte("large"), Width: 4000, Height: 3000}})
	r.start()
	expectContent(t, r.onlyMessage().Media[0], "large")
}

func TestFileNamesAreSafeAndUniqueAndKeepWhatTheyCan(t *testing.T) {
	long := strings.Repeat("ü", 300)
	names := []struct{ sent, kept string }{
		{"report.pdf", "report.pdf"},
		{"report.pdf", "report.pdf"},
		{"../../etc/passwd", "passwd"},
		{`..\..\boot.ini`, "boot.ini"},
		{"/absolute.txt", "absolute.txt"},
		{"no extension", "no_extension"},
		{"große Übersicht 日本.csv", "große_Übersicht_日本.csv"},
		{"line\nbreak\x00.txt", "line_break_.txt"},
		{"..", "document"},
		{".bashrc", ".bashrc"},
		{long + ".tar.gz", strings.Repeat("ü", 98) + ".gz"},
		{"a<b>:|?*.md", "a_b_____.md"},
	}
	r := newTestChannel(t)
	for i, n := range names {
		r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: n.sent, Content: fmt.Appendf(nil, "content %d", i)}})
	}
	r.start()
	seen := map[string]bool{}
	for i, in := range r.WaitForMessages(len(names)) {
		if len(in.Media) != 1 {
			t.Fatalf("%q: %+v", names[i].sent, in)
		}
		path := in.Media[0]
		expectContent(t, path, fmt.Sprintf("content %d", i))
		if want := in.ID + "-" + names[i].kept; filepath.Base(path) != want || filepath.Dir(path) != filepath.Join(r.dir, "42", "media") || seen[path] {
			t.Errorf("%.40q is %q, want the name %q", names[i].sent, path, want)
		}
		seen[path] = true
	}
}

func TestANameThatIsTakenBySomethingElseIsLeftAlone(t *testing.T) {
	r := newTestChannel(t)
	m := r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("theirs")}})
	dir := filepath.Join(r.dir, "42", "media")
	ours := filepath.Join(dir, fmt.Sprintf("%d-a.txt", m.ID))
	musttest.Do(t, os.MkdirAll(dir, 0o700))
	musttest.Do(t, os.WriteFile(ours, []byte("the agent's own"), 0o600))
	r.start()
	got := r.onlyMessage()
	expectContent(t, ours, "the agent's own")
	expectContent(t, got.Media[0], "theirs")
}

func TestAFileThatIsTooBigIsNamedToBothAndTheRestIsReceived(t *testing.T) {
	r := newTestChannel(t)
	sent := r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "watch this", Media: &telegramtest.Media{Kind: "video", Name: "my_film_1.mp4", Content: []byte("x"), Size: 31_500_000}})
	r.start()
	got := r.onlyMessage()
	if len(got.Media) != 0 || !strings.HasPrefix(got.Text, "watch this\n") || !strings.Contains(got.Text, `"my_film_1.mp4" (31.5 MB) was not received`) || !strings.Contains(got.Text, "20 MB") {
		t.Errorf("the agent receives %+v", got)
	}
	told := r.server.WaitForCount(t, person, 1)[0]
	if !strings.Contains(told.Text, `"my_film_1.mp4" (31.5 MB) was not received`) || told.ReplyTo == nil || told.ReplyTo.ID != sent.ID {
		t.Errorf("the sender is told %+v", told)
	}
}

func TestAFileBeyondTheLimitOfTheChatIsNamedToBothAndTheRestIsReceived(t *testing.T) {
	r := newTestChannel(t)
	files := channelstest.NewFiles()
	files.SetMaxBytes(10)
	r.SetFiles(files)
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "one", Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("123456")}})
	r.start()
	r.WaitForMessages(1) // files of one batch are downloaded at the same time
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "two", Media: &telegramtest.Media{Kind: "document", Name: "b.txt", Content: []byte("12345")}})
	got := r.WaitForMessages(2)
	const why = `⚠ "b.txt" was not received: the files that this chat has sent may have up to 10 bytes together`
	if len(got[0].Media) != 1 || len(got[1].Media) != 0 || !strings.HasPrefix(got[1].Text, "two\n"+why) {
		t.Errorf("the agent receives %+v", got)
	}
	if told := r.server.WaitForCount(t, person, 1)[0]; !strings.HasPrefix(told.Text, why) {
		t.Errorf("the sender is told %q", told.Text)
	}
}

func TestTheOperatorMayLimitWhatIsReceived(t *testing.T) {
	for name, c := range map[string]struct {
		size, claims int64
		unsized      bool
		local, taken bool
	}{
		"below it":                    {size: 999, taken: true},
		"beyond it":                   {size: 1001},
		"beyond it and says less":     {size: 1001, claims: 999},
		"beyond it and does not say":  {size: 1001, unsized: true},
		"on a local server":           {size: 999, local: true, taken: true},
		"on a local server beyond it": {size: 1001, claims: 999, local: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t, func(o *telegram.Options) { o.MaxDownload = 1000 })
			if c.local {
				r.server.SetLocalServer(t.TempDir())
			}
			r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{
				Kind: "document", Name: "a.bin", Content: make([]byte, c.size), Size: c.claims, Unsized: c.unsized,
			}})
			r.start()
			got := r.onlyMessage()
			if c.taken {
				if len(got.Media) != 1 || got.Text != "" {
					t.Errorf("received %+v", got)
				}
				return
			}
			if told := r.server.WaitForCount(t, person, 1)[0].Text; len(got.Media) != 0 || !strings.Contains(told, "up to 1.0 kB") || !strings.Contains(got.Text, told) {
				t.Errorf("received %+v, told %q", got, told)
			}
		})
	}
}

func TestAFileThatIsBiggerThanItSaysIsNotTaken(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetLimits(telegramtest.Limits{Upload: 50 << 20, Photo: 10 << 20, Download: 100 << 20})
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.bin", Content: bytes.Repeat([]byte("x"), 20<<20+1), Unsized: true}})
	r.start()
	if got := r.onlyMessage(); len(got.Media) != 0 || !strings.Contains(got.Text, "20 MB") {
		t.Errorf("received %+v", got)
	}
	if left, err := os.ReadDir(filepath.Join(r.dir, "42", "media")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestAnOutageOfSecondsCostsNoFile(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t)
	bad := telegramtest.BadGateway()
	r.server.FailNext(telegramtest.Download, bad, bad, bad, bad)
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("all of it")}})
	r.start()
	got := r.onlyMessage()
	if len(got.Media) != 1 {
		t.Fatalf("received %+v", got)
	}
	expectContent(t, got.Media[0], "all of it")
}

func TestWhatAnEarlierRunHasLeftUnfinishedIsRemoved(t *testing.T) {
	r := newTestChannel(t)
	dir := filepath.Join(r.dir, "42", "media")
	musttest.Do(t, os.MkdirAll(dir, 0o700))
	for _, name := range []string{".download-1", "notes"} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("half of"), 0o600))
	}
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.start()
	r.onlyMessage()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("in the folder are %v (%v)", left, err)
	}
}

func TestADownloadThatFailsIsNamedAndTheRestIsReceived(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("getFile", telegramtest.ErrorResponse(400, "Bad Request: wrong file_id or the file is temporarily unavailable"))
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "read this", Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.start()
	if got := r.onlyMessage(); len(got.Media) != 0 || !strings.Contains(got.Text, "read this") || !strings.Contains(got.Text, `"a.txt" was not received`) {
		t.Errorf("received %+v", got)
	}
	r.server.WaitForText(t, person, `⚠ "a.txt" was not received: its download failed.`)
}

func TestASlowDownloadDelaysNobodyElse(t *testing.T) {
	r := newTestChannel(t)
	slow := make(chan struct{})
	r.server.FailNext(telegramtest.Download, telegramtest.Fault{HangUntil: slow})
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "slow", Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.server.UserSends(person, "behind it")
	r.start()
	r.server.WaitForCalls(r.t, telegramtest.Download, func(c []telegramtest.Call) bool { return len(c) == 1 })
	r.server.UserSends(other, "hello")
	first := r.WaitForMessages(1)[0]
	if first.Text != "hello" {
		t.Fatalf("received %+v", first)
	}
	close(slow)
	got := r.WaitForMessages(3)
	if got[1].Text != "slow" || got[2].Text != "behind it" {
		t.Errorf("received %+v", got)
	}
}

// As telegram-bot-api --local does, it has the token in its paths.
func TestFilesOfALocalServerAreCopiedAndTheTokenStaysBehind(t *testing.T) {
	r := newTestChannel(t)
	local := filepath.Join(t.TempDir(), r.server.Token)
	musttest.Do(t, os.MkdirAll(local, 0o700))
	r.server.SetLocalServer(local)
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "big.bin", Content: bytes.Repeat([]byte("x"), 21<<20)}})
	r.start()
	got := r.onlyMessage()
	if len(got.Media) != 1 || got.Media[0] != filepath.Join(r.dir, "42", "media", got.ID+"-big.bin") || len(r.server.Calls(telegramtest.Download)) != 0 {
		t.Fatalf("received %+v", got)
	}
	info, err := os.Stat(got.Media[0])
	if err != nil || info.Size() != 21<<20 || info.Sys().(*syscall.Stat_t).Nlink != 1 {
		t.Errorf("it is %+v (%v)", info, err)
	}
	if left, err := os.ReadDir(filepath.Dir(got.Media[0])); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestAFileThatALocalServerDoesNotHaveIsNamedWithoutTheToken(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) {
		next := o.Client.Transport
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/getFile") {
				return respond(req, 200, `{"ok":true,"result":{"file_id":"x","file_path":"/nowhere/`+o.Token+`/documents/file_0.bin"}}`), nil
			}
			return next.RoundTrip(req)
		})
	})
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "big.bin", Content: []byte("x")}})
	r.start()
	if got := r.onlyMessage(); !strings.Contains(got.Text, `"big.bin" was not received`) {
		t.Errorf("received %+v", got)
	}
	if log := r.LogText(); !strings.Contains(log, "no such file") || strings.Contains(log, r.server.Token) {
		t.Errorf("the log is %s", log)
	}
}
