package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// renews is the end of what a chat is told of a quota.
const renews = " renews at 00:00 (Pacific/Kiritimati)."

func TestTelegramAQuotaIsToldOnceADay(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{
		agent: echo, allow: "*",
		gateway: `, "timezone": "Pacific/Kiritimati"}, "quotas": [{"per": "user", "turns": 2, "match": {"user": "7"}}],
			"routes": [{"agent": "default", "match": {"command": "faq"}}], "log": {"level": "info"`,
	})
	db, sent := b.database(), map[int64]int{}
	write := func(user int64, texts ...string) {
		for _, text := range texts {
			b.api.UserSends(user, text)
			sent[user]++
			b.awaitRow(db, fmt.Sprintf("SELECT count(*) FROM inbox WHERE chat = 'telegram:%d' AND ended > 0 HAVING count(*) = %d", user, sent[user]))
		}
	}
	write(7, "a", "b", "c", "d")
	write(8, "e", "f", "g")
	sentAll := func() { b.awaitRow(db, "SELECT count(*) FROM outbox WHERE state <> 'sent' HAVING count(*) = 0") }
	sentAll()
	wanttest.EqualSlices(t, "the chat shows", b.lasting(7), []string{
		"you said a", "Used today: 2 of 2 turns per person. The limit" + renews, "you said b",
		"This message gets no answer: the limit of 2 turns a day per person is used up. It" + renews,
	})
	for _, m := range b.api.BotMessages(7) {
		if !isTemporary(m.Text) {
			wanttest.Equal(t, m.Text, m.Silent, strings.Contains(m.Text, "Used today"))
		}
	}
	wanttest.EqualSlices(t, "another chat shows", b.lasting(8), []string{"you said e", "you said f", "you said g"})
	reloads := 0
	reload := func(old, with string) {
		b.replaceInConfig(old, with)
		b.signal(syscall.SIGHUP)
		reloads++
		b.awaitLogTimes("config reloaded", reloads)
	}
	reload(`"turns": 2`, `"turns": 3`)
	write(7, "h", "i")
	reload(`"user": "7"`, `"command": "faq"`)
	write(7, "/faq j", "k", "/faq l", "/faq m", "/faq n")
	sentAll()
	wanttest.EqualSlices(t, "of a command", b.lasting(7)[4:], []string{
		"you said h", "you said j", "you said k", "you said l", "Used today: 3 of 3 turns per person. The limit" + renews, "you said m",
		"This message gets no answer: the limit of 3 turns a day per person is used up. It" + renews,
	})
}

// TestTelegramParallelTurnsNeverRunMoreThanAQuotaAllows has 32 people write at the same time, and
// kills the daemon while their turns run.
func TestTelegramParallelTurnsNeverRunMoreThanAQuotaAllows(t *testing.T) {
	t.Parallel()
	const people, limit = 32, 11
	b := startTelegramBot(t, telegramSetup{
		agent: `read -r line; text=${line#*'"text":"'}; echo "${text%%'"'*}" >> runs
			[ -e calm ] || sleep 300; echo "{\"type\":\"message\",\"text\":\"done\"}"`,
		allow:   "*",
		gateway: `, "onCrash": "retry"}, "quotas": [{"per": "agent", "turns": 11}], "log": {"level": "info"`,
	})
	folder := filepath.Dir(b.cfg)
	ran := func() (names []string) {
		text, _ := os.ReadFile(filepath.Join(folder, "runs"))
		names = strings.Fields(string(text))
		slices.Sort(names)
		return slices.Compact(names)
	}
	for n := range people {
		b.api.UserSends(int64(100+n), fmt.Sprint("p", n))
	}
	for kill := range killtest.Rounds(t, 2, 20) {
		for deadline := time.Now().Add(waitTimeout); len(ran()) < min(limit, 2+3*kill); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%q ran", ran())
			}
		}
		b.restart(syscall.SIGKILL, func() {})
	}
	musttest.Do(t, os.WriteFile(filepath.Join(folder, "calm"), nil, 0o600))
	b.restart(syscall.SIGKILL, func() {})
	b.awaitRow(b.database(), fmt.Sprintf("SELECT count(*) FROM inbox WHERE ended > 0 HAVING count(*) = %d", people))
	b.awaitRow(b.database(), "SELECT count(*) FROM outbox WHERE state <> 'sent' HAVING count(*) = 0")
	wanttest.Equal(t, "turns", len(ran()), limit)
	answered, refused := 0, 0
	for n := range people {
		shown := strings.Join(b.texts(int64(100+n)), "\n") // a send that a kill has cut off is repeated, after ↻
		switch {
		case strings.Contains(shown, "done"):
			answered++
		case strings.Contains(shown, "This message gets no answer: the limit of 11 turns a day for the agent default is used up."):
			refused++
		}
	}
	b.stopCleanly()
	wanttest.Equal(t, "answered", answered, limit)
	wanttest.Equal(t, "refused", refused, people-limit)
}
