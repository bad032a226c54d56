package gateway_test

import (
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
)

func TestATelegramAnswerReplacesItsTransientMessageAfterAKill(t *testing.T) {
	t.Parallel()
	const group = -77 // in private chats unfinished answers are drafts
	api := telegramtest.New(t)
	api.AddChat(telegramtest.Chat{ID: group})
	h := newDaemonFixture(t, `echo partial one; `+waitForFileScript("go")+`echo message one two; `+waitForFileScript("never"))
	h.spec.Stream, h.spec.OnCrash, h.spec.Telegram, h.spec.Token = true, "report", api.URL, api.Token
	api.FailNext("editMessageText", telegramtest.Fault{ResponseDelay: time.Minute})
	h.startDaemon()
	api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Text: "@" + api.Bot.Username + " write"})
	transient := awaitTelegramText(t, api, group, "one")
	h.awaitTransients(1)
	(&fixture{t: t, dir: h.spec.Dir}).touchFile("go")
	if _, ok := api.AwaitCalls("editMessageText", testTimeout, func(c []telegramtest.Call) bool { return len(c) > 0 }); !ok {
		t.Fatal("it is not edited")
	}
	h.killDaemon()
	h.startDaemon()
	awaitTelegramText(t, api, group, "I was restarted")
	h.stopDaemon()
	all := api.BotMessages(group)
	if len(all) != 2 || all[0].ID != transient.ID || all[0].TextOrCaption() != "one two" {
		t.Errorf("shown is %q", messageTexts(all))
	}
}
