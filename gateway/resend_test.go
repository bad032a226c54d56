package gateway_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/press"
	"nanobot/internal/musttest"
)

func TestAFailedMessageIsSentAgainByItsButtonOnce(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	var failed atomic.Bool
	fx.net.Fault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Text == "you said one" && failed.CompareAndSwap(false, true) {
			return gatewaytest.Fault{Status: http.StatusForbidden}
		}
		return gatewaytest.Fault{}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "two")
	fx.expect("1", "you said two")
	undelivered := musttest.Get(fx.store.Undelivered(t.Context(), channels.Chat{Channel: "net", ID: "1"}, 9))(t)
	if len(undelivered) != 1 {
		t.Fatalf("undelivered are %+v", undelivered)
	}
	fx.net.UserPresses("2", "u", press.Resend(undelivered[0].ID))
	fx.expect("2", "That message has been sent again already, or is no longer stored.")
	fx.net.UserWrites("1", "u", "three")
	fx.expect("1", "you said two", "you said three")
	fx.stop()
	fx.start()
	fx.net.UserPresses("1", "u", press.Resend(undelivered[0].ID))
	fx.expect("1", "you said two", "you said three", "you said one")
	fx.net.UserPresses("1", "u", press.Resend(undelivered[0].ID))
	fx.net.UserWrites("1", "u", "four")
	fx.expect("1", "you said two", "you said three", "you said one",
		"That message has been sent again already, or is no longer stored.", "you said four")
}
