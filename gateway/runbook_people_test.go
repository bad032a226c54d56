package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
)

// gateRunbook has one step, which people approve.
const gateRunbook = "# Gate\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\"}}}\n```\n"

// awaitGates waits until a chat was shown n open questions, and returns them.
func (r *fixture) awaitGates(chat string, n int) (gates []gatewaytest.Call) {
	r.t.Helper()
	calls, ok := r.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool {
		gates = nil
		for _, c := range calls {
			if strings.Contains(c.Text, "Go on?") && len(c.Buttons) > 0 {
				gates = append(gates, c)
			}
		}
		return len(gates) == n
	})
	if !ok {
		r.t.Fatalf("chat %s was shown %q", chat, texts(calls))
	}
	return gates
}

// listRuns returns all runs, the oldest first.
func (r *fixture) listRuns() []runbook.Run {
	r.t.Helper()
	runs, err := runbook.Runs{Records: r.store}.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return runs
}

// runStatuses returns the statuses of all runs, the oldest first.
func (r *fixture) runStatuses() (all []runbook.Status) {
	r.t.Helper()
	for _, run := range r.listRuns() {
		all = append(all, run.Status)
	}
	return all
}

func (r *fixture) expectStatuses(want ...runbook.Status) {
	r.t.Helper()
	if got := r.runStatuses(); !slices.Equal(got, want) {
		r.t.Errorf("the runs are %q, want %q", got, want)
	}
}

func TestTwoRunsOfARunbookInAChatShareNothing(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	r.start()
	r.net.UserWrites("1", "ann", "/run gate")
	first := r.awaitGates("1", 1)[0]
	r.net.UserWrites("1", "ann", "/run gate")
	second := r.awaitGates("1", 2)[1]
	r.pressButton("bob", second, 0)
	r.awaitText("1", "The run is complete.")
	r.expectStatuses(runbook.Waiting, runbook.Complete)
	r.pressButton("bob", first, 1)
	r.awaitText("1", "The run was declined at step 1 by net:bob.")
	r.expectStatuses(runbook.Declined, runbook.Complete)
}

func TestAButtonOfAnotherChatDecidesNothing(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"gate": gateRunbook})
	r.settings.AllowFrom["net"] = []string{"ann", "mallory"}
	r.start()
	r.net.UserWrites("1", "ann", "/run gate")
	gate := r.awaitGates("1", 1)[0]
	r.net.UserWrites("2", "mallory", "/run gate")
	r.awaitGates("2", 1)
	r.net.UserPresses("2", "mallory", gate.Buttons[0])
	r.awaitText("2", "This question is no longer open.")
	r.net.UserReplies("2", "mallory", gate.ID, "approve") // the ID of a message of the other chat
	r.net.UserPresses("2", "mallory", "answer:run.ffffffffffff.1.1:1")
	r.net.UserPresses("2", "mallory", "answer:run.:1")
	r.net.UserPresses("2", "mallory", "answer:run.."+strings.Repeat(".", 60)+":1")
	r.net.UserPresses("1", "eve", gate.Buttons[0]) // may not talk to the bot
	r.net.UserWrites("2", "mallory", "/whoami")
	r.awaitText("2", "user id: mallory")
	r.expectStatuses(runbook.Waiting, runbook.Waiting)
	r.pressButton("ann", gate, 0)
	r.awaitText("1", "The run is complete.")
	r.expectStatuses(runbook.Complete, runbook.Waiting)
}

func TestOfTwoConcurrentDecisionsOneIsTooLate(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 1} {
		r := newRunbookFixture(t, "true", map[string]string{"gate": strings.Replace(gateRunbook, "# Gate", "# Gate\n\n## Gate", 1) + "## Next\n\nSay more.\n"})
		r.start()
		r.net.UserWrites("1", "ann", "/run gate")
		gate := r.awaitGates("1", 1)[0]
		r.pressButton("ann", gate, first)
		r.pressButton("bob", gate, 1-first)
		r.awaitText("1", "This question is no longer open.")
		want, words := runbook.Complete, "The run is complete."
		if first == 1 {
			want, words = runbook.Declined, "The run was declined at step 1 by net:ann."
		}
		r.awaitText("1", words)
		r.expectStatuses(want)
	}
}

// failing has two steps whose commands always fail.
const failing = "# Failing\n\n## One\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> one; false\"}}}\n```\n" +
	"## Two\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> two; false\"}}}\n```\n"

func TestARedeliveredUpdateIsNotCarriedOutAgain(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"failing": failing})
	r.start()
	begin := r.net.UserWrites("1", "ann", "/run failing")
	retry := r.net.UserPresses("1", "ann", r.awaitText("1", "Step 1 has failed 3 times.").Buttons[0])
	r.awaitText("1", "Step 1 has failed 4 times.")
	r.net.OfferAgain(retry)
	skip := r.net.UserWrites("1", "ann", "/run skip it is broken")
	r.awaitText("1", "Step 2 has failed 3 times.")
	for _, id := range []string{begin, retry, skip} {
		r.net.OfferAgain(id)
	}
	r.net.UserWrites("1", "ann", "/whoami")
	r.awaitText("1", "user id: ann")
	r.awaitIdle("1")
	r.expectStatuses(runbook.Waiting)
	if run := r.listRuns()[0]; run.Step != 2 || run.Issued.Failures != 3 || len(run.Records) != 1 {
		t.Errorf("the run is at step %d with %d failures and %d records", run.Step, run.Issued.Failures, len(run.Records))
	}
	if one, two := r.countLines("one"), r.countLines("two"); one != 4 || two != 3 {
		t.Errorf("the commands ran %d and %d times", one, two)
	}
}
