package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// Each bot numbers its updates and the messages of its private chats from the start.
func TestTelegramAnotherBotInTheSameFolderReceivesEveryMessage(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	for _, word := range []string{"one", "two", "three"} {
		b.api.UserSends(7, word)
		b.api.WaitForText(t, 7, "you said "+word)
	}
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	next := telegramtest.New(t)
	next.Token, next.Bot.ID = "222222222:BBBdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", 222222222
	cfg := musttest.Get(os.ReadFile(b.cfg))(t)
	for path, content := range map[string]string{
		b.cfg: strings.ReplaceAll(string(cfg), b.api.URL, next.URL), filepath.Join(filepath.Dir(b.cfg), "token"): next.Token,
	} {
		musttest.Do(t, os.WriteFile(path, []byte(content), 0o600))
	}
	b.api = next
	b.program = startProgram(t, "serve", "--config", b.cfg)
	var want []string
	for _, word := range []string{"hello", "new", "bot", "are", "you", "there"} {
		next.UserSends(7, word)
		want = append(want, "you said "+word)
		next.WaitForText(t, 7, "you said "+word)
	}
	got := slices.DeleteFunc(b.texts(7), func(text string) bool { return !strings.HasPrefix(text, "you said ") }) // a slow machine queues
	wanttest.EqualSlices(t, "the new bot said", got, want)
}
