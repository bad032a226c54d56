package gateway_test

import (
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
)

func TestTelegramAnswerTakesItsPlaceAfterAKill(t *testing.T) {
	t.Parallel()
	api := telegramtest.New(t)
	h := newHarness(t, `echo partial one; `+until("go")+`echo message one two; `+until("never"))
	h.spec.Stream, h.spec.OnCrash, h.spec.Telegram, h.spec.Token = true, "report", api.URL, api.Token
	api.FailNext("editMessageText", telegramtest.Fault{ResponseDelay: time.Minute})
	h.begin()
	api.UserSends(7, "write")
	transient := awaitWords(t, api, 7, "one")
	h.awaitTransients(1)
	(&rig{t: t, dir: h.spec.Dir}).touch("go")
	if _, ok := api.AwaitCalls("editMessageText", patience, func(c []telegramtest.Call) bool { return len(c) > 0 }); !ok {
		t.Fatal("it is not edited")
	}
	h.kill()
	h.begin()
	awaitWords(t, api, 7, "I was restarted")
	h.end()
	all := api.BotMessages(7)
	if len(all) != 2 || all[0].ID != transient.ID || all[0].TextOrCaption() != "one two" {
		t.Errorf("shown is %q", shownWords(all))
	}
}
