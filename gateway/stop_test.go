package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/wanttest"
)

// hangingAgent works on a message with "hang" until it is stopped, and answers all others.
const hangingAgent = `read -r line; case "$line" in *hang*) echo x >> up; exec sleep 300;; *second*) echo second;; *) echo free;; esac`

func TestStopEndsTheTurnAndTheNextMessageRuns(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, hangingAgent).start()
	fx.net.UserWrites("1", "u", "hang")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "second")
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "1 message still waits; /stop all drops it.")
	stopped := fx.awaitText("1", "Stopped.")
	if stopped.Kind != string(channels.Answer) || stopped.Text != "Stopped." {
		t.Errorf("the stop is shown as %+v", stopped)
	}
	fx.awaitText("1", "second")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "Nothing is running.")
}

func TestStopAllEmptiesTheQueue(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, hangingAgent).start()
	fx.net.UserWrites("1", "u", "hang")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "second")
	fx.net.UserWrites("1", "u", "/stop all")
	fx.awaitText("1", "1 waiting message dropped.")
	fx.awaitText("1", "Stopped.")
	fx.net.UserWrites("1", "u", "again")
	fx.awaitText("1", "free")
	if got := texts(fx.net.Sent("1")); slices.Contains(got, "second") {
		t.Errorf("the chat shows %q", got)
	}
}

func TestASecondPressOfStopDoesNotStopTheNextTurn(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, hangingAgent).start()
	fx.net.UserWrites("1", "u", "hang")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "hang, too")
	fx.net.UserPresses("1", "u", "stop:1")
	fx.awaitText("1", "Stopped.")
	fx.awaitTrue("the second turn", func() bool { return strings.Count(fx.readWorkspace("up"), "x") == 2 })
	fx.net.UserPresses("1", "u", "stop:1")
	fx.awaitText("1", "That has ended already.")
	wanttest.Equal(t, "turns run:", fx.gw.Activity()[store.DefaultAgent].Turns, 1)
	fx.net.UserPresses("1", "u", "stop:2")
	if _, ok := fx.net.Await("1", testTimeout, func(all []gatewaytest.Call) bool { return countText(all, "Stopped.") == 2 }); !ok {
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
			fx := newFixture(t, hangingAgent)
			fx.settings.OnCrash = "retry"
			fx.startCrashing(storeWrite{method: "Receive", number: 3, after: true}) // the command is stored, and the turn not cancelled yet
			fx.net.UserWrites("1", "u", "hang")
			fx.awaitFile("up")
			fx.net.UserWrites("1", "u", "second")
			fx.net.UserWrites("1", "u", command)
			fx.awaitCrash()
			fx.wrapStore, fx.abandonAfter = nil, 0
			fx.start()
			fx.net.UserWrites("1", "u", "later")
			fx.awaitText("1", "free")
			fx.awaitIdle("1")
			if n := strings.Count(fx.readWorkspace("up"), "x"); n > 1 {
				t.Errorf("the stopped message ran %d times", n)
			}
			got := texts(fx.net.Sent("1"))
			if ran := slices.Contains(got, "second"); ran == (command == "/stop all") {
				t.Errorf("after %s the chat shows %q", command, got)
			}
			if strings.Contains(strings.Join(got, "|"), "restarted") {
				t.Errorf("the stop is shown as a failure: %q", got)
			}
			if after, _, _ := fx.store.Inbound(t.Context(), 1); after.State != store.Interrupted {
				t.Errorf("the inbound is %s", after.State)
			}
		})
	}
}
