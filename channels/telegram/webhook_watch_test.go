package telegram_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

func TestRegisteringIsTriedUntilItWorks(t *testing.T) {
	t.Parallel()
	r := newHookRig(t)
	r.server.FailNext("setWebhook", telegramtest.BadGateway(), telegramtest.ErrorResponse(400, "Bad Request: bad webhook: Failed to resolve host"))
	r.server.UserSends(person, "hello")
	r.run()
	r.wait(1)
	if log := r.logged(); !strings.Contains(log, "webhook not registered, will retry") || !strings.Contains(log, "Failed to resolve host") {
		t.Errorf("the log does not tell: %s", log)
	}
}

func TestWhatTelegramCouldNotDeliverComesAtOnceAfterARestart(t *testing.T) {
	t.Parallel()
	first := newHookRig(t)
	stop := first.run()
	first.registered()
	stop()
	first.server.SetWebhookRetry(time.Hour)
	first.server.UserSends(person, "anybody there?")
	first.delivered(1)
	second := first.again()
	second.server.SetWebhookRetry(time.Hour)
	second.run()
	if got := second.wait(1); got[0].Text != "anybody there?" {
		t.Errorf("received %+v", got)
	}
	second.taken()
}

func TestAWrongTokenEndsTheWebhookInOneLine(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"getMe", "setWebhook", "getWebhookInfo"} {
		r := newHookRig(t, func(o *telegram.Options) { o.Timing.Watch = time.Millisecond })
		no := telegramtest.ErrorResponse(401, "Unauthorized")
		r.server.FailNext(method, no, no)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := r.Run(ctx, r.inbox.Receive)
		if err == nil || !strings.Contains(err.Error(), "check channels.telegram.token") {
			t.Errorf("%s: Run returned %v", method, err)
		}
	}
}

func TestTheWebhookIsLookedAfter(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, func(o *telegram.Options) { o.Timing.Watch = 20 * time.Millisecond })
	r.run()
	r.registered()
	r.front.admit(0) // the proxy in front of us is down
	r.server.UserSends(person, "hello")
	for deadline := time.Now().Add(patience); !strings.Contains(r.logged(), "502 Bad Gateway"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not tell: %s", r.logged())
		}
	}
	r.front.admit(-1)
	r.wait(1)
	answer, err := http.Get(r.server.URL + "/bot" + r.server.Token + "/deleteWebhook")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	r.server.UserSends(person, "still there?")
	r.wait(2)
	if log := r.logged(); !strings.Contains(log, "another program has changed this bot's webhook") {
		t.Errorf("the log does not tell: %s", log)
	}
}
