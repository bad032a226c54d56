package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// telegramSetup is a bot: its agent, and what its sections say beyond the usual, as JSON that
// begins with a comma.
type telegramSetup struct {
	agent                      string // a shell script
	command                    string // in its stead
	protocol                   string // "" is rich
	terminal, channel, gateway string
	allow                      string // whom it lets in; "" is user 7
}

// writeConfig puts the config and the agent into a folder of their own, with three pictures beside
// them, and returns the config's path.
func (s telegramSetup) writeConfig(t testing.TB, api *telegramtest.Server) string {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Prepare(t, filepath.Join(dir, ".nanobot"))
	files := map[string][]byte{
		"agent.sh": []byte(s.agent), "token": []byte(api.Token),
		"config.json": []byte(`{
			"terminal": {"command": ` + strconv.Quote(cmp.Or(s.command, "sh agent.sh")) + `, "protocol": "` + cmp.Or(s.protocol, "rich") + `"` + s.terminal + `},
			"channels": {"telegram": {"enabled": true, "token": "file:token", "apiBase": "` + api.URL + `",
				"allowFrom": ["` + cmp.Or(s.allow, "7") + `"]` + s.channel + `}},
			"gateway": {"maxConcurrent": 8` + s.gateway + `},
		}`),
	}
	for i, size := range []int{40, 50, 60} {
		files[string(rune('a'+i))+".png"] = telegramtest.PNG(size, size)
	}
	for name, content := range files {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return filepath.Join(dir, "config.json")
}

// telegramBot is the real daemon against a strict Bot API on loopback.
type telegramBot struct {
	*program
	api *telegramtest.Server
	cfg string
}

func startTelegramBot(t *testing.T, s telegramSetup) *telegramBot {
	t.Helper()
	b := &telegramBot{api: telegramtest.New(t)}
	b.cfg = s.writeConfig(t, b.api)
	b.program = startProgram(t, "serve", "--config", b.cfg)
	return b
}

// environWithoutTestSettings is the environment without settings of the tests, which the daemon
// would take for misspelt settings of its own.
func environWithoutTestSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NANOBOT_") })
}

// restart ends the daemon with a signal and starts another one.
func (b *telegramBot) restart(s syscall.Signal, meanwhile func()) {
	b.t.Helper()
	b.signal(s)
	b.awaitExit()
	meanwhile()
	b.program = startProgram(b.t, "serve", "--config", b.cfg)
}

// texts are what a chat shows.
func (b *telegramBot) texts(chat int64) (all []string) {
	for _, m := range b.api.BotMessages(chat) {
		all = append(all, m.TextOrCaption())
	}
	return all
}

// echo is an agent that says what it was told.
const echo = `read -r line; text=${line#*'"text":"'}; echo "{\"type\":\"message\",\"text\":\"you said ${text%%'"'*}\"}"`

func TestTelegramTextAndAlbumsBothWays(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `read -r line
		case "$line" in *'"media":'*) n=$(printf %s "${line#*'"media":'}" | cut -d']' -f1 | tr -cd , | wc -c); echo "{\"type\":\"message\",\"text\":\"got $((n + 1)) files\"}";;
		*album*) echo '{"type":"message","text":"**three**","media":["'$PWD'/a.png","'$PWD'/b.png","'$PWD'/c.png"]}';;
		*) echo '{"type":"message","text":"Hello *there*"}';; esac`})
	b.api.UserSends(7, "hi")
	b.api.WaitForText(t, 7, "Hello there")
	b.api.UserSends(7, "album please")
	b.api.WaitForText(t, 7, "three")
	groups := 0
	for _, c := range b.api.Calls("sendMediaGroup") {
		groups += len(c.Messages)
	}
	if groups != 3 || len(b.api.Calls("sendMediaGroup")) != 1 {
		t.Errorf("the album went out as %d calls with %d items", len(b.api.Calls("sendMediaGroup")), groups)
	}
	picture := telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}
	b.api.UserSendsAlbum(telegramtest.UserPost{Chat: 7, Text: "look"}, picture, picture, picture)
	b.api.WaitForText(t, 7, "got 3 files")
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
}

func TestTelegramMessagesSentWhileTheDaemonWasDownAreAnswered(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.UserSends(7, "one")
	b.api.WaitForText(t, 7, "you said one")
	b.restart(syscall.SIGTERM, func() { b.api.UserSends(7, "two") })
	b.api.WaitForText(t, 7, "you said two")
	b.lasting(7)
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	wanttest.Equal(t, "the chat shows", strings.Join(b.texts(7), "|"), "you said one|you said two")
}

func TestTelegramStopButtonAndStrangers(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `echo '{"type":"progress","text":"working"}'; exec sleep 300`})
	b.api.UserSends(7, "work")
	board := b.api.WaitForText(t, 7, "⏳ working")
	b.awaitAcknowledgement(b.api.UserPresses(7, 7, board.ID, "stop:1"))
	b.api.WaitForText(t, 7, "Stopped.")
	if shown, gone := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool { return len(all) == 1 }); !gone {
		t.Errorf("the progress stays: %+v", shown)
	}
	b.api.UserSends(8, "let me in")
	shown := b.api.WaitForCount(t, 8, 1)
	if !strings.Contains(shown[0].TextOrCaption(), "nanobot pair ") {
		t.Errorf("a stranger is told %q", shown[0].TextOrCaption())
	}
}

// buttonLabels returns the labels of a message's buttons.
func buttonLabels(m telegramtest.Message) (all []string) {
	for _, b := range m.Buttons() {
		all = append(all, b.Text)
	}
	return all
}
