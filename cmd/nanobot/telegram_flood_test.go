package main

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/wanttest"
)

// isTemporary reports whether a text is progress or a notice about the queue, which depend on what
// was quicker.
func isTemporary(text string) bool {
	return strings.HasPrefix(text, queuedNotice) || strings.HasPrefix(text, "⏳")
}

// answers are what a chat shows besides.
func (b *telegramBot) answers(chat int64) []string {
	return slices.DeleteFunc(b.texts(chat), isTemporary)
}

// lasting waits until a chat shows nothing temporary, and returns what it shows.
func (b *telegramBot) lasting(chat int64) []string {
	b.t.Helper()
	if all, ok := b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return !slices.ContainsFunc(all, func(m telegramtest.Message) bool { return isTemporary(m.TextOrCaption()) })
	}); !ok {
		b.t.Fatalf("something temporary stays: %+v", all)
	}
	return b.texts(chat)
}

// awaitAnswers waits until chats were given as many answers as they were promised. At the pace that
// Telegram allows, a thousand take half a minute.
func (b *telegramBot) awaitAnswers(want map[int64]int) {
	b.t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; {
		sent, missing := len(b.api.Calls("sendMessage")), 0
		for chat, n := range want {
			missing += max(0, n-len(b.answers(chat)))
		}
		if missing == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%d answers are missing", missing)
		}
		b.api.AwaitCalls("sendMessage", time.Second, func(calls []telegramtest.Call) bool { return len(calls) > sent })
	}
}

// stopCleanly stops the daemon, whose exit status must be 0.
func (b *telegramBot) stopCleanly() {
	b.t.Helper()
	b.signal(syscall.SIGTERM)
	wanttest.Equal(b.t, "status", b.awaitExit(), 0)
}

// TestTelegramUpdatesThatWaitedAreAnsweredInOrderAndOnce has three polls' worth of updates wait, or
// a thousand with NANOBOT_LONG=1.
func TestTelegramUpdatesThatWaitedAreAnsweredInOrderAndOnce(t *testing.T) {
	t.Parallel()
	chats, each := 60, 4
	if killtest.IsLong() {
		chats, each = 200, 5
	}
	b := startTelegramBot(t, telegramSetup{agent: echo, allow: "*"})
	b.api.UserSends(7, "hello")
	b.api.WaitForText(t, 7, "you said hello")
	want := map[int64]int{}
	b.restart(syscall.SIGKILL, func() {
		for n := range each {
			for i := range int64(chats) {
				b.api.UserSends(1000+i, fmt.Sprintf("%d of %d", n+1, i))
				want[1000+i]++
			}
		}
		if got := b.api.PendingUpdates(); got < chats*each {
			t.Fatalf("%d updates wait", got)
		}
	})
	b.awaitAnswers(want)
	b.stopCleanly()
	wanttest.Equal(t, "updates were not confirmed:", b.api.PendingUpdates(), 0)
	for i := range int64(chats) {
		var right []string
		for n := range each {
			right = append(right, fmt.Sprintf("you said %d of %d", n+1, i))
		}
		if got := b.answers(1000 + i); !slices.Equal(got, right) {
			t.Errorf("chat %d shows %q", 1000+i, got)
		}
	}
}

// In a storm some chats are refused whatever is sent to them. Their answers wait, those of the
// others do not, and when the storm is over everything arrives in order.
func TestTelegramRateLimitsDelayOnlyTheirChats(t *testing.T) {
	t.Parallel()
	const each = 3
	stormy, calm := []int64{2001, 2002, 2003}, []int64{3001, 3002, 3003, 3004, 3005, 3006}
	b := startTelegramBot(t, telegramSetup{allow: "*", agent: `read -r line; text=${line#*'"text":"'}
		echo '{"type":"progress","text":"working"}'
		echo "{\"type\":\"message\",\"text\":\"you said ${text%%'"'*}\"}"`})
	var over atomic.Bool
	b.api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if !over.Load() && slices.Contains(stormy, c.IntParam("chat_id")) {
			return telegramtest.RateLimited(1)
		}
		return telegramtest.Fault{}
	})
	want := map[int64]int{}
	for n := range each {
		for _, chat := range slices.Concat(stormy, calm) {
			b.api.UserSends(chat, fmt.Sprintf("%d of %d", n+1, chat))
			want[chat]++
		}
	}
	refused := func(calls []telegramtest.Call) bool {
		n := map[int64]int{}
		for _, c := range calls {
			if c.Status == 429 {
				n[c.IntParam("chat_id")]++
			}
		}
		return n[stormy[0]] > 3 && n[stormy[1]] > 3 && n[stormy[2]] > 3
	}
	if calls, ok := b.api.AwaitCalls("sendMessage", telegramtest.WaitLimit, refused); !ok {
		t.Fatalf("the storm did not come: %+v", calls)
	}
	early := map[int64]int{}
	for _, chat := range calm {
		early[chat] = each
	}
	b.awaitAnswers(early)
	for _, chat := range stormy {
		if got := b.texts(chat); len(got) > 0 {
			t.Errorf("chat %d shows %q in the storm", chat, got)
		}
	}
	over.Store(true)
	b.awaitAnswers(want)
	b.stopCleanly()
	for chat, n := range want {
		var right []string
		for i := range n {
			right = append(right, fmt.Sprintf("you said %d of %d", i+1, chat))
		}
		if got := b.answers(chat); !slices.Equal(got, right) {
			t.Errorf("chat %d shows %q", chat, got)
		}
	}
}
