package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// awaitMessageID waits until the message with an ID shows some words.
func (b *telegramBot) awaitMessageID(id int, words string) telegramtest.Message {
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

func TestAPersonWatchesATerminalTakesItOverAndHandsItBack(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	b := startTelegramBot(t, telegramSetup{
		protocol: "keys", terminal: `, "env": {"HOME": "` + home + `"}`,
		agent: strings.Replace(keysAgent(t, "echo wai''ting; read x; echo got $x", "echo do''ne"), "2) ", "2) while [ ! -e ~/go ]; do sleep 0.1; done; ", 1),
	})
	b.api.UserSends(7, "start")
	board := b.awaitMessage(7, "\nwaiting")
	wanttest.EqualSlices(t, "the board has the buttons", buttonLabels(board), []string{"Take over", "Stop"})
	b.pressButton(board, "Take over")
	b.awaitMessage(7, "The terminal is yours")
	musttest.Do(t, os.WriteFile(filepath.Join(home, "go"), nil, 0o600)) // the agent answers, and is held
	b.api.UserSends(7, "hello")
	board = b.awaitMessage(7, "\ngot hello")
	b.pressButton(board, "⏎")
	b.pressButton(board, "⏎") // the buttons stay
	if now := b.awaitMessageID(board.ID, "\ngot hello"); !slices.Contains(buttonLabels(now), "Hand back") {
		t.Errorf("the board has the buttons %q", buttonLabels(now))
	}
	b.api.UserSends(7, "/screen")
	b.awaitPicture()
	b.api.UserSends(7, "/give")
	b.awaitMessage(7, "The agent goes on.")
	b.awaitMessage(7, "All is done.")
	b.api.UserSends(7, "/help")
	b.awaitMessage(7, "/take: take the terminal over from the agent")
	for _, m := range b.api.BotMessages(7) {
		if n := len([]rune(m.TextOrCaption())); n > 4096 {
			t.Errorf("a message has %d characters", n)
		}
	}
}

// awaitPicture waits for a picture.
func (b *telegramBot) awaitPicture() {
	b.t.Helper()
	if shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return slices.ContainsFunc(all, func(m telegramtest.Message) bool { return m.File() != nil })
	}); !ok {
		b.t.Fatalf("no picture is shown: %+v\n%s", shown, b.log())
	}
}
