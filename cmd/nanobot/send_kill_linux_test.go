package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
)

// TestMessagesOfScriptsSurviveKills kills the daemon right after send and ask have exited, or while
// they run, and repeats with the same key what was not accepted. Every message is shown, and none
// is shown twice without Telegram's mark of a repetition. With NANOBOT_LONG=1 there are 200 kills.
func TestMessagesOfScriptsSurviveKills(t *testing.T) {
	t.Parallel()
	rounds := killtest.Rounds(t, 10, 200)
	seed := killtest.Seed()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("NANOBOT_SEED=%d", seed)
	b := startTelegramBot(t, telegramSetup{agent: echo, gateway: `, "onCrash": "retry"`})
	b.api.SetFault(randomDelays(rand.New(rand.NewPCG(seed, 1))))
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann"})
	kinds := [][]string{
		{"send"},
		{"send", "--buttons", "A,B"},
		{"send", "--media", filepath.Join(filepath.Dir(b.cfg), "a.png")},
		{"ask"},
		{"ask", "--media", filepath.Join(filepath.Dir(b.cfg), "b.png")},
	}
	var want []string
	for n := range rounds {
		b.awaitLog("ready")
		kind := kinds[random.IntN(len(kinds))]
		text := fmt.Sprintf("message %d.", n)
		args := append(append([]string{}, kind...), "--chat", "telegram:7", "--key", text, "--config", b.cfg, text)
		if kind[0] == "ask" {
			text = "you said " + text
		}
		want = append(want, text)
		p := startProgram(t, args...)
		midway := random.IntN(2) == 0
		if midway {
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		} else if status := p.awaitExit(); status != 0 {
			t.Fatalf("status %d: %s", status, p.log())
		}
		b.restart(syscall.SIGKILL, func() {
			if !b.api.AwaitDisconnected(telegramtest.WaitLimit) {
				t.Fatal("the daemon is dead and its connections are not")
			}
		})
		if midway && p.awaitExit() != 0 {
			b.awaitLog("ready")
			b.mustPost(args...)
		}
	}
	b.awaitLog("ready")
	b.mustPost("ask", "--chat", "telegram:7", "--wait", "the last one")
	want = append(want, "you said the last one")
	counts := map[string]int{}
	for _, text := range b.texts(7) {
		shown, repeated := strings.CutPrefix(text, "↻ ")
		switch counts[shown]++; {
		case counts[shown] > 1 && !repeated:
			t.Errorf("%q is shown twice", shown)
		}
	}
	for _, text := range want {
		if counts[text] == 0 {
			t.Errorf("%q is not shown, but %q", text, b.texts(7))
		}
		delete(counts, text)
	}
	if len(counts) > 0 {
		t.Errorf("the chat also shows %v", counts)
	}
}
