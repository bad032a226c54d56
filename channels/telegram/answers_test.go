package telegram_test

import (
	"net/http"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
)

func TestASendIsJudgedByTheFieldsOfItsAnswerThatCanBeDecoded(t *testing.T) {
	r := newTestChannel(t)
	for _, body := range []string{
		`{"ok":true,"result":{"message_id":5},"description":7}`,
		`{"ok":true,"result":{"message_id":5},"parameters":[]}`,
		`{"ok":true,"result":{"message_id":5},"error_code":"none"}`,
	} {
		r.server.FailNext("sendMessage", telegramtest.Fault{Body: body})
		if receipt, err := r.Send(t.Context(), r.PlanText("hello")); err != nil || receipt.ID != "5" {
			t.Errorf("%s gives the receipt %+v, %v", body, receipt, err)
		}
	}
}

func TestTelegramIsWaitedForAsLongAsItAsks(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":7}}`:          7 * time.Second,
		`{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":7.5}}`:        7500 * time.Millisecond,
		`{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":31536000}}`:   24 * time.Hour,
		`{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":1e300}}`:      24 * time.Hour,
		`{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":-5}}`:         time.Second,
		`{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":"a minute"}}`: time.Second,
		`<html>429 Too Many Requests</html>`:                                                      time.Second,
	} {
		r := newTestChannel(t) // each with a pace of its own
		r.server.FailNext("sendMessage", telegramtest.Fault{Status: http.StatusTooManyRequests, Body: body})
		if se := r.MustFailSend(t.Context(), r.PlanText("hello")); se.After != want || se.Permanent || se.Unknown {
			t.Errorf("%s means %+v", body, se)
		}
	}
}

// A page of a proxy does not say what Telegram thinks of a message.
func TestARefusalByAProxyIsNotFinal(t *testing.T) {
	r := newTestChannel(t)
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusProxyAuthRequired} {
		r.server.FailNext("sendMessage", telegramtest.Fault{Status: status, Body: "<html>no</html>"})
		if se := r.MustFailSend(t.Context(), r.PlanText("hello")); se.Permanent || se.Unknown {
			t.Errorf("%d means %+v", status, se)
		}
	}
}
