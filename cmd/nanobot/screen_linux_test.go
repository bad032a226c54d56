package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// showsIn waits until the message with an id shows some words.
func (b *telegramBot) showsIn(id int, words string) telegramtest.Message {
	b.t.Helper()
	var found telegramtest.Message
	shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool { return m.ID == id && strings.Contains(m.TextOrCaption(), words) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		b.t.Fatalf("message %d does not show %q: %+v\n%s", id, words, shown, b.log())
	}
	return found
}

// labels are the buttons of a message.
func labels(m telegramtest.Message) (all []string) {
	for _, b := range m.Buttons() {
		all = append(all, b.Text)
	}
	return all
}

func TestAPersonWatchesATerminalTakesItOverAndHandsItBack(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	b := startTelegramBot(t, setup{
		protocol: "keys", terminal: `, "env": {"HOME": "` + home + `"}`,
		agent: strings.Replace(keysAgent(t, "echo wai''ting; read x; echo got $x", "echo do''ne"), "2) ", "2) while [ ! -e ~/go ]; do sleep 0.1; done; ", 1),
	})
	b.api.UserSends(7, "start")
	board := b.shows(7, "\nwaiting")
	if got := labels(board); !slices.Equal(got, []string{"Take over", "Stop"}) {
		t.Errorf("the board has the buttons %q", got)
	}
	b.press(board, "Take over")
	b.shows(7, "The terminal is yours")
	must(t, os.WriteFile(filepath.Join(home, "go"), nil, 0o600)) // the agent answers, and is held
	b.api.UserSends(7, "hello")
	board = b.shows(7, "\ngot hello")
	b.press(board, "Enter")
	b.press(board, "Enter") // the buttons stay
	if now := b.showsIn(board.ID, "\ngot hello"); !slices.Contains(labels(now), "Hand back") {
		t.Errorf("the board has the buttons %q", labels(now))
	}
	b.api.UserSends(7, "/screen")
	b.showsPicture()
	b.api.UserSends(7, "/give")
	b.shows(7, "The agent goes on.")
	b.shows(7, "All is done.")
	b.api.UserSends(7, "/help")
	b.shows(7, "/take: take the terminal over from the agent")
	for _, m := range b.api.BotMessages(7) {
		if n := len([]rune(m.TextOrCaption())); n > 4096 {
			t.Errorf("a message has %d characters", n)
		}
	}
}

// showsPicture waits for a picture.
func (b *telegramBot) showsPicture() {
	b.t.Helper()
	if shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return slices.ContainsFunc(all, func(m telegramtest.Message) bool { return m.File() != nil })
	}); !ok {
		b.t.Fatalf("no picture is shown: %+v\n%s", shown, b.log())
	}
}
