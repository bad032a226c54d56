package gateway_test

import (
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
)

func TestATelegramAnswerReplacesItsTransientMessageAfterAKill(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(t)
	h := newDaemonFixture(t, `echo partial one; `+waitForFileScript("go")+`echo message one two; `+waitForFileScript("never"))
	h.spec.Stream, h.spec.OnCrash, h.spec.Telegram, h.spec.Token = true, "report", api.URL, api.Token
	api.FailNext("editMessageText", telegramtest.Fault{ResponseDelay: time.Minute})
	h.startDaemon()
	api.UserSends(7, "write")
	transient := awaitTelegramText(t, api, 7, "one")
	h.awaitTransients(1)
	(&fixture{t: t, dir: h.spec.Dir}).touchFile("go")
	if _, ok := api.AwaitCalls("editMessageText", testTimeout, func(c []telegramtest.Call) bool { return len(c) > 0 }); !ok {
		t.Fatal("it is not edited")
	}
	h.killDaemon()
	h.startDaemon()
	awaitTelegramText(t, api, 7, "I was restarted")
	h.stopDaemon()
	all := api.BotMessages(7)
	if len(all) != 2 || all[0].ID != transient.ID || all[0].TextOrCaption() != "one two" {
		t.Errorf("shown is %q", messageTexts(all))
	}
}
