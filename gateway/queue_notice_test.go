package gateway_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
)

// isGone reports whether no message begins with a text.
func isGone(prefix string) func([]gatewaytest.Call) bool {
	return func(all []gatewaytest.Call) bool {
		for _, c := range all {
			if strings.HasPrefix(c.Text, prefix) {
				return false
			}
		}
		return true
	}
}

func TestTheNoticeOfAQueuedMessageDisappearsWhenItsTurnBegins(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) `+waitForFileScript("go")+`;; *) touch up; `+waitForFileScript("end")+`;; esac; echo ran`).start()
	fx.net.UserWrites("1", "u", "first")
	fx.net.UserWrites("1", "u", "second")
	if notice := fx.awaitText("1", "Queued."); notice.Kind != string(channels.Progress) || len(notice.Buttons) != 1 || notice.ReplyTo != "m2" {
		t.Errorf("the notice is %+v", notice)
	}
	fx.touchFile("go")
	fx.awaitFile("up")
	if shown, ok := fx.net.Await("1", testTimeout, isGone("Queued")); !ok {
		t.Errorf("the notice stays: %+v", shown)
	}
	fx.touchFile("end")
	fx.expect("1", "ran", "ran")
}

func TestNoNoticeOfAQueuedMessageStaysAfterACrash(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) touch up; `+waitForFileScript("go")+`;; esac; echo ran`)
	fx.settings.OnCrash = "retry"
	fx.startCrashing(storeWrite{method: "AddTransient", number: 1, after: true})
	fx.net.UserWrites("1", "u", "first")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "second")
	fx.awaitCrash()
	fx.wrapStore, fx.abandonAfter = nil, 0
	fx.start()
	if shown, ok := fx.net.Await("1", testTimeout, isGone("Queued")); !ok {
		t.Errorf("the notice stays: %+v", shown)
	}
	fx.touchFile("go")
	fx.expect("1", "ran", "ran")
}
