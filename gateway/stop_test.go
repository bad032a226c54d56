package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
)

// hangingAgent works on a message with "hang" until it is stopped, and answers all others.
const hangingAgent = `read -r line; case "$line" in *hang*) echo x >> up; exec sleep 300;; *second*) echo second;; *) echo free;; esac`

func TestStopEndsTheTurnAndTheNextMessageRuns(t *testing.T) {
	t.Parallel()
	r := newFixture(t, hangingAgent).start()
	r.net.UserWrites("1", "u", "hang")
	r.awaitFile("up")
	r.net.UserWrites("1", "u", "second")
	r.net.UserWrites("1", "u", "/stop")
	r.awaitText("1", "1 message still waits; /stop all drops it.")
	stopped := r.awaitText("1", "Stopped.")
	if stopped.Kind != string(channels.Answer) || stopped.Text != "Stopped." {
		t.Errorf("the stop is shown as %+v", stopped)
	}
	r.awaitText("1", "second")
	r.awaitIdle("1")
	r.net.UserWrites("1", "u", "/stop")
	r.awaitText("1", "Nothing is running.")
}

func TestStopAllEmptiesTheQueue(t *testing.T) {
	t.Parallel()
	r := newFixture(t, hangingAgent).start()
	r.net.UserWrites("1", "u", "hang")
	r.awaitFile("up")
	r.net.UserWrites("1", "u", "second")
	r.net.UserWrites("1", "u", "/stop all")
	r.awaitText("1", "1 waiting message dropped.")
	r.awaitText("1", "Stopped.")
	r.net.UserWrites("1", "u", "again")
	r.awaitText("1", "free")
	if got := texts(r.net.Sent("1")); slices.Contains(got, "second") {
		t.Errorf("the chat shows %q", got)
	}
}

func TestASecondPressOfStopDoesNotStopTheNextTurn(t *testing.T) {
	t.Parallel()
	r := newFixture(t, hangingAgent).start()
	r.net.UserWrites("1", "u", "hang")
	r.awaitFile("up")
	r.net.UserWrites("1", "u", "hang, too")
	r.net.UserPresses("1", "u", "stop:1")
	r.awaitText("1", "Stopped.")
	r.awaitTrue("the second turn", func() bool { return strings.Count(r.readWorkspace("up"), "x") == 2 })
	r.net.UserPresses("1", "u", "stop:1")
	r.awaitText("1", "That has ended already.")
	if got := r.gw.Activity()[store.DefaultAgent].Turns; got != 1 {
		t.Errorf("%d turns run", got)
	}
	r.net.UserPresses("1", "u", "stop:2")
	if _, ok := r.net.Await("1", testTimeout, func(all []gatewaytest.Call) bool { return countText(all, "Stopped.") == 2 }); !ok {
		t.Error("the second turn was not stopped by its own button")
	}
}

// countText counts the messages with exactly this text.
func countText(all []gatewaytest.Call, text string) (n int) {
	for _, c := range all {
		if c.Text == text {
			n++
		}
	}
	return n
}

func TestAStoppedTurnDoesNotRunAgainAfterACrash(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/stop", "/stop all"} {
		t.Run(strings.TrimPrefix(command, "/"), func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, hangingAgent)
			r.settings.OnCrash = "retry"
			r.startCrashing(storeWrite{method: "Receive", number: 3, after: true}) // the command is stored, and the turn not cancelled yet
			r.net.UserWrites("1", "u", "hang")
			r.awaitFile("up")
			r.net.UserWrites("1", "u", "second")
			r.net.UserWrites("1", "u", command)
			r.awaitCrash()
			r.wrapStore, r.abandonAfter = nil, 0
			r.start()
			r.net.UserWrites("1", "u", "later")
			r.awaitText("1", "free")
			r.awaitIdle("1")
			if n := strings.Count(r.readWorkspace("up"), "x"); n > 1 {
				t.Errorf("the stopped message ran %d times", n)
			}
			got := texts(r.net.Sent("1"))
			if ran := slices.Contains(got, "second"); ran == (command == "/stop all") {
				t.Errorf("after %s the chat shows %q", command, got)
			}
			if strings.Contains(strings.Join(got, "|"), "restarted") {
				t.Errorf("the stop is shown as a failure: %q", got)
			}
			if after, _, _ := r.store.Inbound(t.Context(), 1); after.State != store.Interrupted {
				t.Errorf("the inbound is %s", after.State)
			}
		})
	}
}
