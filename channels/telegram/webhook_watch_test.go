package telegram_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func TestRegisteringIsTriedUntilItWorks(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	r.server.FailNext("setWebhook", telegramtest.BadGateway(), telegramtest.ErrorResponse(400, "Bad Request: bad webhook: Failed to resolve host"))
	r.server.UserSends(person, "hello")
	r.start()
	r.WaitForMessages(1)
	if log := r.LogText(); !strings.Contains(log, "webhook not registered, will retry") || !strings.Contains(log, "Failed to resolve host") {
		t.Errorf("the log does not tell: %s", log)
	}
}

func TestUndeliveredUpdatesArriveSoonAfterARestart(t *testing.T) {
	t.Parallel()
	first := newWebhookChannel(t)
	stop := first.start()
	first.waitForRegistration()
	stop()
	first.server.SetWebhookRetry(time.Hour)
	first.server.UserSends(person, "anybody there?")
	first.waitForDeliveries(1)
	second := first.restart()
	second.server.SetWebhookRetry(time.Hour)
	second.start()
	if got := second.WaitForMessages(1); got[0].Text != "anybody there?" {
		t.Errorf("received %+v", got)
	}
	second.receivedAll()
}

func TestAWrongTokenEndsTheWebhookInOneLine(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"getMe", "setWebhook", "getWebhookInfo"} {
		r := newWebhookChannel(t, func(o *telegram.Options) { o.Timing.Watch = time.Millisecond })
		no := telegramtest.ErrorResponse(401, "Unauthorized")
		r.server.FailNext(method, no, no)
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		err := r.Run(ctx, r.Recorder.Receive)
		if err == nil || !strings.Contains(err.Error(), "check channels.telegram.token") {
			t.Errorf("%s: Run returned %v", method, err)
		}
	}
}

func TestTheWebhookIsCheckedRegularly(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, func(o *telegram.Options) { o.Timing.Watch = 20 * time.Millisecond })
	r.start()
	r.waitForRegistration()
	r.proxy.letThrough(0) // the proxy in front of us is down
	r.server.UserSends(person, "hello")
	for deadline := time.Now().Add(waitLimit); !strings.Contains(r.LogText(), "502 Bad Gateway"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not tell: %s", r.LogText())
		}
	}
	r.proxy.letThrough(-1)
	r.WaitForMessages(1)
	answer := musttest.Get(http.Get(r.server.URL + "/bot" + r.server.Token + "/deleteWebhook"))(t)
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	r.server.UserSends(person, "still there?")
	r.WaitForMessages(2)
	if log := r.LogText(); !strings.Contains(log, "another program has changed this bot's webhook") {
		t.Errorf("the log does not tell: %s", log)
	}
}
