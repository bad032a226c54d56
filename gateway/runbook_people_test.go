package gateway_test

import (
	"strings"
	"testing"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// gateRunbook has one step, which people approve.
const gateRunbook = "# Gate\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\"}}}\n```\n"

// awaitGates waits until a chat was shown n open questions, and returns them.
func (fx *fixture) awaitGates(chat string, n int) (gates []gatewaytest.Call) {
	fx.t.Helper()
	calls, ok := fx.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool {
		gates = nil
		for _, c := range calls {
			if strings.Contains(c.Text, "Go on?") && len(c.Buttons) > 0 {
				gates = append(gates, c)
			}
		}
		return len(gates) == n
	})
	if !ok {
		fx.t.Fatalf("chat %s was shown %q", chat, texts(calls))
	}
	return gates
}

// listRuns returns all runs, the oldest first.
func (fx *fixture) listRuns() []runbook.Run {
	fx.t.Helper()
	runs := musttest.Get(runbook.Runs{Records: fx.store}.List(fx.t.Context(), ""))(fx.t)
	return runs
}

// runStatuses returns the statuses of all runs, the oldest first.
func (fx *fixture) runStatuses() (all []runbook.Status) {
	fx.t.Helper()
	for _, run := range fx.listRuns() {
		all = append(all, run.Status)
	}
	return all
}

func (fx *fixture) expectStatuses(want ...runbook.Status) {
	fx.t.Helper()
	wanttest.EqualSlices(fx.t, "the runs are", fx.runStatuses(), want)
}

func TestTwoRunsOfARunbookInAChatShareNothing(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run gate")
	first := fx.awaitGates("1", 1)[0]
	fx.net.UserWrites("1", "ann", "/run gate")
	second := fx.awaitGates("1", 2)[1]
	fx.pressButton("bob", second, 0)
	fx.awaitText("1", "The run is complete.")
	fx.expectStatuses(runbook.Waiting, runbook.Complete)
	fx.pressButton("bob", first, 1)
	fx.awaitText("1", "The run was declined at step 1 by net:bob.")
	fx.expectStatuses(runbook.Declined, runbook.Complete)
}

func TestAButtonOfAnotherChatDecidesNothing(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	fx.settings.AllowFrom["net"] = []string{"ann", "mallory"}
	fx.start()
	fx.net.UserWrites("1", "ann", "/run gate")
	gate := fx.awaitGates("1", 1)[0]
	fx.net.UserWrites("2", "mallory", "/run gate")
	fx.awaitGates("2", 1)
	fx.net.UserPresses("2", "mallory", gate.Buttons[0])
	fx.awaitText("2", "This question is no longer open.")
	fx.net.UserReplies("2", "mallory", gate.ID, "approve") // the ID of a message of the other chat
	fx.net.UserPresses("2", "mallory", "answer:run.ffffffffffff.1.1:1")
	fx.net.UserPresses("2", "mallory", "answer:run.:1")
	fx.net.UserPresses("2", "mallory", "answer:run.."+strings.Repeat(".", 60)+":1")
	fx.net.UserPresses("1", "eve", gate.Buttons[0]) // may not talk to the bot
	fx.net.UserWrites("2", "mallory", "/whoami")
	fx.awaitText("2", "user id: mallory")
	fx.expectStatuses(runbook.Waiting, runbook.Waiting)
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "The run is complete.")
	fx.expectStatuses(runbook.Complete, runbook.Waiting)
}

func TestOfTwoConcurrentDecisionsOneIsTooLate(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 1} {
		fx := newRunbookFixture(t, "true", map[string]string{"gate": strings.Replace(gateRunbook, "# Gate", "# Gate\n\n## Gate", 1) + "## Next\n\nSay more.\n"})
		fx.start()
		fx.net.UserWrites("1", "ann", "/run gate")
		gate := fx.awaitGates("1", 1)[0]
		fx.pressButton("ann", gate, first)
		fx.pressButton("bob", gate, 1-first)
		fx.awaitText("1", "This question is no longer open.")
		want, words := runbook.Complete, "The run is complete."
		if first == 1 {
			want, words = runbook.Declined, "The run was declined at step 1 by net:ann."
		}
		fx.awaitText("1", words)
		fx.expectStatuses(want)
	}
}

// failing has two steps whose commands always fail.
const failing = "# Failing\n\n## One\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> one; false\"}}}\n```\n" +
	"## Two\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> two; false\"}}}\n```\n"

func TestARedeliveredUpdateIsNotCarriedOutAgain(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"failing": failing})
	fx.start()
	begin := fx.net.UserWrites("1", "ann", "/run failing")
	retry := fx.net.UserPresses("1", "ann", fx.awaitText("1", "Step 1 has failed 3 times.").Buttons[0])
	fx.awaitText("1", "Step 1 has failed 4 times.")
	fx.net.OfferAgain(retry)
	skip := fx.net.UserWrites("1", "ann", "/run skip it is broken")
	fx.awaitText("1", "Step 2 has failed 3 times.")
	for _, id := range []string{begin, retry, skip} {
		fx.net.OfferAgain(id)
	}
	fx.net.UserWrites("1", "ann", "/whoami")
	fx.awaitText("1", "user id: ann")
	fx.awaitIdle("1")
	fx.expectStatuses(runbook.Waiting)
	if run := fx.listRuns()[0]; run.Step != 2 || run.Issued.Failures != 3 || len(run.Records) != 1 {
		t.Errorf("the run is at step %d with %d failures and %d records", run.Step, run.Issued.Failures, len(run.Records))
	}
	if one, two := fx.countLines("one"), fx.countLines("two"); one != 4 || two != 3 {
		t.Errorf("the commands ran %d and %d times", one, two)
	}
}
