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
	r := newFixture(t, `read -r line; case "$line" in *first*) `+waitForFileScript("go")+`;; *) touch up; `+waitForFileScript("end")+`;; esac; echo ran`).start()
	r.net.UserWrites("1", "u", "first")
	r.net.UserWrites("1", "u", "second")
	if notice := r.awaitText("1", "Queued."); notice.Kind != string(channels.Progress) || len(notice.Buttons) != 1 || notice.ReplyTo != "m2" {
		t.Errorf("the notice is %+v", notice)
	}
	r.touchFile("go")
	r.awaitFile("up")
	if shown, ok := r.net.Await("1", testTimeout, isGone("Queued")); !ok {
		t.Errorf("the notice stays: %+v", shown)
	}
	r.touchFile("end")
	r.expect("1", "ran", "ran")
}

func TestNoNoticeOfAQueuedMessageStaysAfterACrash(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `read -r line; case "$line" in *first*) touch up; `+waitForFileScript("go")+`;; esac; echo ran`)
	r.settings.OnCrash = "retry"
	r.startCrashing(storeWrite{method: "AddTransient", number: 1, after: true})
	r.net.UserWrites("1", "u", "first")
	r.awaitFile("up")
	r.net.UserWrites("1", "u", "second")
	r.awaitCrash()
	r.wrapStore, r.abandonAfter = nil, 0
	r.start()
	if shown, ok := r.net.Await("1", testTimeout, isGone("Queued")); !ok {
		t.Errorf("the notice stays: %+v", shown)
	}
	r.touchFile("go")
	r.expect("1", "ran", "ran")
}
