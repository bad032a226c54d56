package main

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/pausetest"
)

// repeatAgent answers with the text of its message.
const repeatAgent = `read -r line; text=${line#*'"text":"'}; printf '{"type":"message","text":"got %s"}\n' "${text%%'"'*}"`

// forwardUpdate returns an update with a message that user 7 has forwarded.
func forwardUpdate(id int, text string) string {
	return fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"Ada"},
		"text":%q,"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}}}`, id, text)
}

func TestMessagesThatAKilledDaemonGatheredAreOneTurn(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: repeatAgent, gateway: `, "gather": 60000`})
	b.api.UserSends(7, "one")
	b.api.UserSends(7, "two")
	if !b.api.AwaitPending(0, telegramtest.WaitLimit) {
		t.Fatal("the messages are not received")
	}
	b.restart(syscall.SIGKILL, func() { b.api.UserSends(7, "three") })
	if !b.api.AwaitPending(0, telegramtest.WaitLimit) {
		t.Fatal("the last message is not received")
	}
	b.api.UserSends(7, "/whoami")
	shown, _ := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool { return len(all) == 2 })
	texts := map[string]bool{}
	for _, m := range shown {
		texts[m.TextOrCaption()] = true
	}
	if len(shown) != 2 || !texts["got one\ntwo\nthree"] {
		t.Errorf("the chat shows %v", texts)
	}
}

func TestACommentAndItsForwardAreOneTurnByWebhook(t *testing.T) {
	t.Parallel()
	// A comment waits for 150 ms for what is forwarded with it.
	pausetest.Try(t, 50*time.Millisecond, func() error {
		b := newWebhookBot(t)
		b.api.UserSends(7, "is this true?")
		b.api.InjectUpdate(forwardUpdate(900, "news"))
		if _, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool { return len(all) > 0 }); !ok {
			t.Fatal("nothing is answered")
		}
		b.api.UserSends(7, "next")
		return b.checkAnswers(7, "you said is this true?\nnews", "you said next")
	})
}
