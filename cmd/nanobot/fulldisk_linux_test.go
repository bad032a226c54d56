package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// fullDiskBot is the real daemon with three channels. Its workspace and state are on a small disk.
type fullDiskBot struct {
	*program
	dir      string
	listen   string
	telegram *telegramtest.Server
	discord  *discordtest.Server
	dm       string
}

// startFullDiskBot starts a daemon whose agent tells the first word of its text.
func startFullDiskBot(t *testing.T, megabytes int, gateway string) *fullDiskBot {
	t.Helper()
	b := &fullDiskBot{dir: t.TempDir(), listen: freeAddress(t), telegram: telegramtest.New(t), discord: discordtest.New(t)}
	b.dm = b.discord.DM(ada).ID
	if err := unix.Mount("tmpfs", b.dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Skipf("cannot mount a small disk here, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(b.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	b.configure(t, gateway)
	b.program = startProgram(t, "serve", "--config", filepath.Join(b.dir, "config.json"))
	b.awaitLog("ready")
	b.discord.AwaitStats(t, func(s discordtest.Stats) bool { return s.Connected > 0 })
	return b
}

func (b *fullDiskBot) configure(t *testing.T, gateway string) {
	t.Helper()
	for name, content := range map[string]string{
		"agent.sh": `read -r line; text=${line#*'"text":"'}; text=${text%%[!a-z0-9]*}
			echo "{\"type\":\"message\",\"text\":\"answer to $text\"}"`,
		"telegram-token": b.telegram.Token, "discord-token": b.discord.Token, "token": webToken,
		"config.json": `{
			"terminal": {"command": "sh agent.sh", "protocol": "rich"},
			"channels": {
				"telegram": {"enabled": true, "token": "file:telegram-token", "apiBase": "` + b.telegram.URL + `", "allowFrom": ["7"]},
				"discord": {"enabled": true, "token": "file:discord-token", "apiBase": "` + b.discord.URL + `", "allowFrom": ["` + ada + `"]},
				"web": {"enabled": true, "maxUpload": 100}},
			"http": {"listen": "` + b.listen + `", "token": "file:token"},
			"gateway": {` + gateway + `}}`,
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600))
	}
}

// upload sends a message with a file through the HTTP API and returns the response.
func (b *fullDiskBot) upload(t *testing.T, chat, text string, content []byte) (int, string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("text", text)
	file, err := form.CreateFormFile("file", "big.bin")
	if err == nil {
		_, err = file.Write(content)
	}
	if err != nil || form.Close() != nil {
		t.Error(err)
		return 0, ""
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.listen+"/api/chats/"+chat+"/messages", &body)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+webToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer)
}

// webMessages returns the messages of a chat, as JSON.
func (b *fullDiskBot) webMessages(t *testing.T, chat string) string {
	t.Helper()
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.listen+"/api/chats/"+chat+"/messages?limit=200", nil))(t)
	req.Header.Set("Authorization", "Bearer "+webToken)
	resp := musttest.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	all := musttest.Get(io.ReadAll(resp.Body))(t)
	return string(all)
}

// awaitWebText waits until a chat of the web has a message with a text.
func (b *fullDiskBot) awaitWebText(t *testing.T, chat, text string) {
	t.Helper()
	for deadline := time.Now().Add(telegramtest.WaitLimit); !strings.Contains(b.webMessages(t, chat), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s has no %q: %s", chat, text, b.webMessages(t, chat))
		}
	}
}

// People of all channels send about 600 MB at the same time to a disk of 300 MiB.
func TestUploadsOfAllChannelsLeaveRoomOnTheDiskAndAnswersGoOn(t *testing.T) {
	t.Parallel()
	const each = 6
	b := startFullDiskBot(t, 300, `"queueLimit": 0`)
	part := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	var work errgroup.Group
	work.SetLimit(4) // as many uploads as one user may have at the same time
	for i := range each {
		b.telegram.UserPosts(telegramtest.UserPost{Chat: 7, Text: fmt.Sprintf("telegram%d", i), Media: &telegramtest.Media{Kind: "document", Name: "big.bin", Content: bytes.Repeat(part, 19)}})
		b.discord.UserSends(b.dm, ada, fmt.Sprintf("discord%d", i), discordtest.File{Name: "big.bin", Size: 40_000_000})
		work.Go(func() error {
			status, answer := b.upload(t, fmt.Sprintf("web-script-%d", i), fmt.Sprintf("web%d", i), bytes.Repeat(part, 40))
			if status != http.StatusAccepted {
				return fmt.Errorf("upload %d is answered %d %s", i, status, answer)
			}
			return nil
		})
	}
	musttest.Do(t, work.Wait())
	refused := 0
	for i := range each {
		b.telegram.WaitForText(t, 7, fmt.Sprintf("answer to telegram%d", i))
		b.discord.WaitForText(t, b.dm, fmt.Sprintf("answer to discord%d", i))
		chat := fmt.Sprintf("web-script-%d", i)
		b.awaitWebText(t, chat, fmt.Sprintf("answer to web%d", i))
		if strings.Contains(b.webMessages(t, chat), "has too little free space") {
			refused++
		}
	}
	for _, m := range b.telegram.BotMessages(7) {
		if strings.Contains(m.TextOrCaption(), "has too little free space") {
			refused++
		}
	}
	// Smaller files still fit, up to the reserve.
	for i := 0; !strings.Contains(b.webMessages(t, "web-script-0"), "has too little free space"); i++ {
		if status, answer := b.upload(t, "web-script-0", fmt.Sprintf("small%d", i), part); status != http.StatusAccepted || i == 300 {
			t.Fatalf("upload %d of a small file is answered %d %s", i, status, answer)
		}
		b.awaitWebText(t, "web-script-0", fmt.Sprintf("answer to small%d", i))
	}
	var s unix.Statfs_t
	musttest.Do(t, unix.Statfs(b.dir, &s))
	// The reserve is 15 MB; the messages themselves are stored in it.
	if free := int64(s.Bavail) * s.Bsize; free < 12<<20 || refused == 0 {
		t.Errorf("%d bytes are free, %d files were refused", free, refused)
	}
	// Nothing that was confirmed is lost.
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	b.program = startProgram(t, "serve", "--config", filepath.Join(b.dir, "config.json"))
	b.awaitLog("ready")
	for i := range each {
		if all := b.webMessages(t, fmt.Sprintf("web-script-%d", i)); !strings.Contains(all, fmt.Sprintf("answer to web%d", i)) || !strings.Contains(all, fmt.Sprintf(`"text":"web%d`, i)) {
			t.Errorf("after a restart, chat %d has %s", i, all)
		}
	}
	b.telegram.UserSends(7, "later")
	b.telegram.WaitForText(t, 7, "answer to later")
}

func TestAReloadChangesTheLimitOfReceivedFilesOnEveryChannel(t *testing.T) {
	t.Parallel()
	b := startFullDiskBot(t, 64, `"files": {"max": 1}`)
	big := bytes.Repeat([]byte("x"), 2<<20)
	send := func(n int) {
		b.telegram.UserPosts(telegramtest.UserPost{Chat: 7, Text: fmt.Sprintf("t%d", n), Media: &telegramtest.Media{Kind: "document", Name: "big.bin", Content: big}})
		b.discord.UserSends(b.dm, ada, fmt.Sprintf("d%d", n), discordtest.File{Name: "big.bin", Content: big})
		if status, answer := b.upload(t, "web-script", fmt.Sprintf("w%d", n), big); status != http.StatusAccepted {
			t.Errorf("the upload is answered %d %s", status, answer)
		}
		b.telegram.WaitForText(t, 7, fmt.Sprintf("answer to t%d", n))
		b.discord.WaitForText(t, b.dm, fmt.Sprintf("answer to d%d", n))
		b.awaitWebText(t, "web-script", fmt.Sprintf("answer to w%d", n))
	}
	files := func() (all []string) {
		for _, chat := range []string{"7", b.dm, "web-script"} {
			found, _ := filepath.Glob(filepath.Join(b.dir, "users", chat, "*-big.bin"))
			all = append(all, found...)
		}
		return all
	}
	send(1)
	if got := files(); len(got) != 0 {
		t.Errorf("received are %v", got)
	}
	if all := b.webMessages(t, "web-script"); !strings.Contains(all, "may have up to 1.0 MB together") {
		t.Errorf("the page shows %s", all)
	}
	b.configure(t, `"files": {"max": 10}`)
	b.signal(syscall.SIGHUP)
	b.awaitLog("reloaded")
	send(2)
	if got := files(); len(got) != 3 {
		t.Errorf("received are %v", got)
	}
}
