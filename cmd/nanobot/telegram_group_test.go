package main

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

const (
	oldGroup   = int64(-77)
	supergroup = int64(-1001234567890)
)

func TestTelegramAnswerThatWaitsForAGroupReachesItsSupergroupOnce(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AddChat(telegramtest.Chat{ID: oldGroup})
	var open atomic.Bool
	b.api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method == "sendMessage" && !open.Load() {
			return telegramtest.RateLimited(1)
		}
		return telegramtest.Fault{}
	})
	b.api.UserPosts(telegramtest.UserPost{Chat: oldGroup, From: 7, Text: "@nano_test_bot hello"})
	b.api.AwaitCalls("sendMessage", telegramtest.WaitLimit, func(c []telegramtest.Call) bool { return len(c) == 2 })
	b.restart(syscall.SIGKILL, func() {
		b.api.Migrate(oldGroup, supergroup)
		open.Store(true)
	})
	isAnswer := func(text string) bool { return strings.TrimPrefix(text, "↻ ") == "you said hello" } // a try may have been in flight
	shown, ok := b.api.AwaitMessages(supergroup, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return len(all) > 0 && !isTemporary(all[0].Text)
	})
	b.stopCleanly()
	if got := b.answers(supergroup); !ok || len(got) != 1 || !isAnswer(got[0]) || shown[0].ReplyTo != nil || len(b.answers(oldGroup)) != 0 {
		t.Errorf("the supergroup shows %q, the group %q", got, b.texts(oldGroup))
	}
}

// A group that becomes a supergroup has another ID on Telegram. For the agent it stays the same
// chat, with its history and its folder.
func TestTelegramGroupThatBecomesASupergroupStaysTheSameChat(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{terminal: `, "passHistory": 10`, agent: `read -r line
		field() { value=${line#*"\"$1\":\""}; echo "${value%%'"'*}"; }
		dir=$(field user_data_dir); echo x >> "$dir/visits"
		said=$(echo "$line" | grep -o '"role":"user"' | wc -l)
		echo "{\"type\":\"message\",\"text\":\"chat $(field chat_id), visit $(wc -l < "$dir/visits"), $said said before\"}"`})
	b.api.AddChat(telegramtest.Chat{ID: oldGroup})
	ask := func(chat int64, answer string) {
		t.Helper()
		asked := b.api.UserPosts(telegramtest.UserPost{Chat: chat, From: 7, Text: "@nano_test_bot hello"})
		if m := b.api.WaitForText(t, chat, answer); m.ReplyTo == nil || m.ReplyTo.ID != asked.ID {
			t.Errorf("%q replies to %+v", answer, m.ReplyTo)
		}
	}
	ask(oldGroup, "chat -77, visit 1, 0 said before")
	b.api.Migrate(oldGroup, supergroup)
	ask(supergroup, "chat -77, visit 2, 1 said before")
	b.restart(syscall.SIGKILL, func() {})
	ask(supergroup, "chat -77, visit 3, 2 said before")
	if got := b.answers(oldGroup); len(got) != 1 {
		t.Errorf("the group shows %q", got)
	}
}
