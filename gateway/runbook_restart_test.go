package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
)

// restart ends the gateway as SIGTERM does, and starts it again.
func (r *fixture) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

func TestARestartAtEachQuestionOfARunChangesNothing(t *testing.T) {
	t.Parallel()
	r := newMixedRunFixture(t)
	r.start()
	r.net.UserWrites("1", "ann", "/run mixed")
	p := newRunApprovers(r)
	restarts := 0
	for {
		calls, ok := r.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
			return len(p.newMessages(calls)) > 0 || slices.ContainsFunc(calls, isReport)
		})
		if !ok {
			t.Fatalf("the chat was shown %q", texts(calls))
		}
		if slices.ContainsFunc(calls, isReport) {
			break
		}
		r.restart()
		restarts++
		for _, c := range p.newMessages(calls) {
			p.respond(c)
		}
	}
	r.restart()
	r.awaitTrue("the end", func() bool { return slices.ContainsFunc(r.net.Sent("1"), hasFiles) && p.isIdle() })
	p.checkRun()
	if restarts < 3 || p.again > 0 {
		t.Errorf("there were %d restarts, and %d interruptions", restarts, p.again)
	}
}

func TestARestartBetweenTwoApprovalsKeepsBoth(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, firstLine, map[string]string{"mixed": mixedRunbook})
	r.start()
	r.net.UserWrites("1", "ann", "/run mixed")
	gate := r.awaitText("1", "2 people have to approve.")
	r.restart()
	r.pressButton("ann", gate, 0)
	r.awaitText("1", "1 of 2 approvals.")
	r.restart()
	r.pressButton("ann", gate, 0)
	r.awaitText("1", "You have approved already.")
	r.restart()
	r.pressButton("bob", gate, 0)
	r.awaitText("1", "Step 3 has failed 3 times.")
}

// waitRunbook has a command that waits for a file.
const waitRunbook = "# Wait\n\n## Wait\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> begun; while ! test -e go; do sleep 0.01; done\",\"timeout_seconds\":300}}}\n```\n" +
	"## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\"}}}\n```\n"

func TestARestartWaitsForTheCommandOfAStep(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook})
	r.settings.DrainTimeout = testTimeout
	r.start()
	r.net.UserWrites("1", "ann", "/run wait")
	r.awaitTrue("the command", func() bool { return r.countLines("begun") == 1 })
	time.AfterFunc(50*time.Millisecond, func() { r.touchFile("go") })
	r.restart()
	r.pressButton("ann", r.awaitText("1", "Go on?"), 0)
	r.awaitReport("1", "The run is complete.")
	if n := r.countLines("begun"); n != 1 {
		t.Errorf("the command ran %d times", n)
	}
}

func TestAnInterruptedCommandIsNoFailureAndRunsAgainOnRequest(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook})
	r.settings.DrainTimeout = time.Millisecond
	r.start()
	r.net.UserWrites("1", "ann", "/run wait")
	r.awaitTrue("the command", func() bool { return r.countLines("begun") == 1 })
	r.restart()
	cut := r.awaitText("1", "I was restarted while working on this.")
	runs, err := runbook.Runs{Records: r.store}.List(t.Context())
	if err != nil || len(runs) != 1 || runs[0].Issued.Failures != 0 || runs[0].Status != runbook.Waiting {
		t.Errorf("the runs are %+v: %v", runs, err)
	}
	r.touchFile("go")
	r.pressButton("ann", cut, 0)
	r.pressButton("ann", r.awaitText("1", "Go on?"), 0)
	r.awaitReport("1", "The run is complete.")
	if n := r.countLines("begun"); n != 2 {
		t.Errorf("the command ran %d times", n)
	}
	r.pressButton("ann", cut, 0) // the run has ended, and no other one begins
	r.net.UserWrites("1", "ann", "hello")
	r.awaitTrue("the end", func() bool { taken, _ := r.net.Acknowledged(); return taken == r.net.Updates() })
	r.awaitIdle("1")
	if n := r.countLines("begun"); n != 2 {
		t.Errorf("the command ran %d times: the button of a run that has ended began another one", n)
	}
}

func TestTheButtonOfAnAlreadyResumedRunStartsNoOther(t *testing.T) {
	t.Parallel()
	r := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook[:strings.Index(waitRunbook, "## Go")]})
	r.settings.DrainTimeout = time.Millisecond
	r.start()
	r.net.UserWrites("1", "ann", "/run wait")
	r.awaitTrue("the command", func() bool { return r.countLines("begun") == 1 })
	r.restart()
	cut := r.awaitText("1", "I was restarted while working on this.")
	r.touchFile("go")
	r.net.UserWrites("1", "ann", "/run resume")
	r.awaitReport("1", "The run is complete.")
	r.awaitIdle("1")
	r.pressButton("ann", cut, 0)
	r.awaitText("1", "This run has ended. /run wait begins a new one.")
	if n := r.countLines("begun"); n != 2 {
		t.Errorf("the command ran %d times", n)
	}
}
