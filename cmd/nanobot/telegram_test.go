package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// telegramBot is the real daemon against a strict Bot API on loopback.
type telegramBot struct {
	*program
	api *telegramtest.Server
	cfg string
}

func startTelegramBot(t *testing.T, agent, more string) *telegramBot {
	t.Helper()
	dir := t.TempDir()
	b := &telegramBot{api: telegramtest.New(t), cfg: filepath.Join(dir, "config.json")}
	for name, content := range map[string]string{
		"agent.sh": agent, "token": b.api.Token,
		"config.json": `{
			"terminal": {"command": "sh agent.sh", "protocol": "rich"` + more + `},
			"channels": {"telegram": {"enabled": true, "token": "file:token", "apiBase": "` + b.api.URL + `", "allowFrom": ["7"]}},
		}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, size := range []int{40, 50, 60} {
		name := string(rune('a'+i)) + ".png"
		if err := os.WriteFile(filepath.Join(dir, name), telegramtest.PNG(size, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.program = startProgram(t, "serve", "--config", b.cfg)
	return b
}

func TestTelegramTextAndAlbumsBothWays(t *testing.T) {
	b := startTelegramBot(t, `read -r line
		case "$line" in *'"media":'*) n=$(printf %s "${line#*'"media":'}" | cut -d']' -f1 | tr -cd , | wc -c); echo "{\"type\":\"message\",\"text\":\"got $((n + 1)) files\"}";;
		*album*) echo '{"type":"message","text":"**three**","media":["'$PWD'/a.png","'$PWD'/b.png","'$PWD'/c.png"]}';;
		*) echo '{"type":"message","text":"Hello *there*"}';; esac
	`, "")
	b.api.Say(7, "hi")
	b.api.WaitFor(t, 7, "Hello there")
	b.api.Say(7, "album please")
	b.api.WaitFor(t, 7, "three")
	groups := 0
	for _, c := range b.api.Calls("sendMediaGroup") {
		groups += len(c.Messages)
	}
	if groups != 3 || len(b.api.Calls("sendMediaGroup")) != 1 {
		t.Errorf("the album went out as %d calls with %d items", len(b.api.Calls("sendMediaGroup")), groups)
	}
	picture := telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}
	b.api.Album(telegramtest.Post{Chat: 7, Text: "look"}, picture, picture, picture)
	b.api.WaitFor(t, 7, "got 3 files")
	b.signal(syscall.SIGTERM)
	if got := b.status(); got != 0 {
		t.Errorf("status %d", got)
	}
}

func TestTelegramMessagesSentWhileTheDaemonWasDownAreAnswered(t *testing.T) {
	b := startTelegramBot(t, `read -r line; text=${line#*'"text":"'}; echo "{\"type\":\"message\",\"text\":\"you said ${text%%'"'*}\"}"`, "")
	b.api.Say(7, "one")
	b.api.WaitFor(t, 7, "you said one")
	b.signal(syscall.SIGTERM)
	b.status()
	b.api.Say(7, "two")
	again := startProgram(t, "serve", "--config", b.cfg)
	b.api.WaitFor(t, 7, "you said two")
	again.signal(syscall.SIGTERM)
	again.status()
	var texts []string
	for _, m := range b.api.Shown(7) {
		texts = append(texts, m.Words())
	}
	if got := strings.Join(texts, "|"); got != "you said one|you said two" {
		t.Errorf("the chat shows %s", got)
	}
}

func TestTelegramStopButtonAndStrangers(t *testing.T) {
	b := startTelegramBot(t, `echo '{"type":"progress","text":"working"}'; exec sleep 300`, "")
	b.api.Say(7, "work")
	bubble := b.api.WaitFor(t, 7, "⏳ working")
	b.api.Press(7, 7, bubble.ID, "/stop")
	b.api.WaitFor(t, 7, "Stopped.")
	b.api.Say(8, "let me in")
	shown := b.api.Wait(t, 8, 1)
	if !strings.Contains(shown[0].Words(), "nanobot pair ") {
		t.Errorf("a stranger is told %q", shown[0].Words())
	}
}
