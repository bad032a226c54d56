package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/runbook"
	"nanobot/internal/wanttest"
)

// restart ends the gateway as SIGTERM does, and starts it again.
func (fx *fixture) restart() {
	fx.t.Helper()
	fx.stop()
	fx.start()
}

func TestARestartAtEachQuestionOfARunChangesNothing(t *testing.T) {
	t.Parallel()
	fx := newMixedRunFixture(t)
	fx.start()
	fx.net.UserWrites("1", "ann", "/run mixed")
	p := newRunApprovers(fx)
	restarts := 0
	for {
		calls, ok := fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
			return len(p.newMessages(calls)) > 0 || slices.ContainsFunc(calls, isReport)
		})
		if !ok {
			t.Fatalf("the chat was shown %q", texts(calls))
		}
		if slices.ContainsFunc(calls, isReport) {
			break
		}
		fx.restart()
		restarts++
		for _, c := range p.newMessages(calls) {
			p.respond(c)
		}
	}
	fx.restart()
	fx.awaitTrue("the end", func() bool { return slices.ContainsFunc(fx.net.Sent("1"), hasFiles) && p.isIdle() })
	p.checkRun()
	if restarts < 3 || p.again > 0 {
		t.Errorf("there were %d restarts, and %d interruptions", restarts, p.again)
	}
}

func TestARestartBetweenTwoApprovalsKeepsBoth(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, firstLine, map[string]string{"mixed": mixedRunbook})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run mixed")
	gate := fx.awaitText("1", "2 people have to approve.")
	fx.restart()
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "1 of 2 approvals.")
	fx.restart()
	fx.pressButton("ann", gate, 0)
	fx.awaitText("1", "You have approved already.")
	fx.restart()
	fx.pressButton("bob", gate, 0)
	fx.awaitText("1", "Step 3 has failed 3 times.")
}

// waitRunbook has a command that waits for a file.
const waitRunbook = "# Wait\n\n## Wait\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> begun; while ! test -e go; do sleep 0.01; done\",\"timeout_seconds\":300}}}\n```\n" +
	"## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\"}}}\n```\n"

func TestARestartWaitsForTheCommandOfAStep(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook})
	fx.settings.DrainTimeout = testTimeout
	fx.start()
	fx.net.UserWrites("1", "ann", "/run wait")
	fx.awaitTrue("the command", func() bool { return fx.countLines("begun") == 1 })
	time.AfterFunc(50*time.Millisecond, func() { fx.touchFile("go") })
	fx.restart()
	fx.pressButton("ann", fx.awaitText("1", "Go on?"), 0)
	fx.awaitReport("1", "The run is complete.")
	wanttest.Equal(t, "the command ran … times:", fx.countLines("begun"), 1)
}

func TestAnInterruptedCommandIsNoFailureAndRunsAgainOnRequest(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook})
	fx.settings.DrainTimeout = time.Millisecond
	fx.start()
	fx.net.UserWrites("1", "ann", "/run wait")
	fx.awaitTrue("the command", func() bool { return fx.countLines("begun") == 1 })
	fx.restart()
	cut := fx.awaitText("1", "I was restarted while working on this.")
	wanttest.Equal(t, "the report:", cut.Text,
		"I was restarted while working on this. The step that was interrupted comes next; /run resume continues there.")
	runs, err := runbook.Runs{Records: fx.store}.List(t.Context(), "")
	if err != nil || len(runs) != 1 || runs[0].Issued.Failures != 0 || runs[0].Status != runbook.Waiting {
		t.Errorf("the runs are %+v: %v", runs, err)
	}
	fx.touchFile("go")
	fx.pressButton("ann", cut, 0)
	fx.pressButton("ann", fx.awaitText("1", "Go on?"), 0)
	fx.awaitReport("1", "The run is complete.")
	wanttest.Equal(t, "the command ran … times:", fx.countLines("begun"), 2)
	fx.pressButton("ann", cut, 0) // the run has ended, and no other one begins
	fx.net.UserWrites("1", "ann", "hello")
	fx.awaitTrue("the end", func() bool { taken, _ := fx.net.Acknowledged(); return taken == fx.net.Updates() })
	fx.awaitIdle("1")
	wanttest.Equal(t, "the command ran … times: the button of a run that has ended began another one:", fx.countLines("begun"), 2)
}

func TestTheButtonOfAnAlreadyResumedRunStartsNoOther(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", map[string]string{"wait": waitRunbook[:strings.Index(waitRunbook, "## Go")]})
	fx.settings.DrainTimeout = time.Millisecond
	fx.start()
	fx.net.UserWrites("1", "ann", "/run wait")
	fx.awaitTrue("the command", func() bool { return fx.countLines("begun") == 1 })
	fx.restart()
	cut := fx.awaitText("1", "I was restarted while working on this.")
	fx.touchFile("go")
	fx.net.UserWrites("1", "ann", "/run resume")
	fx.awaitReport("1", "The run is complete.")
	fx.awaitIdle("1")
	fx.pressButton("ann", cut, 0)
	fx.awaitText("1", "This run has ended. /run wait begins a new one.")
	wanttest.Equal(t, "the command ran … times:", fx.countLines("begun"), 2)
}
