package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/pausetest"
	"nanobot/terminal"
)

// stepsProtocol emits the board of each step that the agent prints as a line "step TEXT". Another
// line is the answer, before which the board is folded.
type stepsProtocol struct {
	required bool // no message has what is on the board
}

func (p stepsProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	agent, err := t.Launch(ctx, terminal.Input{})
	if err != nil {
		return terminal.Outcome{}, err
	}
	defer agent.Wait()
	defer agent.Kill()
	var steps []string
	for said := bufio.NewScanner(agent.Stdout); said.Scan(); {
		board := terminal.Frame{Kind: terminal.Progress, Board: true, Text: said.Text()}
		frames := []terminal.Frame{board, {Kind: terminal.Message, Text: said.Text()}}
		if what, ok := strings.CutPrefix(said.Text(), "step "); ok {
			steps = append(steps, what)
			frames = frames[:1]
			frames[0].Text, frames[0].Step = what, len(steps)
		} else {
			frames[0].Fold = &terminal.Fold{Steps: len(steps), Details: strings.Join(steps, "\n"), Required: p.required}
		}
		for _, f := range frames {
			if err := t.Emit(f); err != nil {
				return terminal.Outcome{}, err
			}
		}
	}
	return terminal.Outcome{Status: terminal.Done}, nil
}

func newStepsFixture(t *testing.T) *fixture {
	t.Helper()
	fx := newFixture(t, `for i in $(seq 20); do echo step run $i; done; `+waitForFileScript("go")+`echo All done.`)
	fx.protocol = stepsProtocol{}
	return fx
}

func TestATurnOfManyStepsLeavesTheFoldedBoardAndTheAnswerWithDetails(t *testing.T) {
	t.Parallel()
	// A board that is not folded after 1.75 seconds is removed.
	pausetest.Try(t, 500*time.Millisecond, func() error { return foldBoard(t) })
}

// foldBoard has a turn of many steps and checks what it leaves.
func foldBoard(t *testing.T) error {
	t.Helper()
	fx := newStepsFixture(t)
	fx.boardDelay = 10 * time.Millisecond
	var refusals atomic.Int64
	fx.net.EditFault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Details != "" && refusals.Add(1) <= 2 {
			return gatewaytest.Fault{Status: http.StatusTooManyRequests, RetryAfter: 100 * time.Millisecond}
		}
		return gatewaytest.Fault{}
	}
	fx.start()
	defer fx.stop()
	fx.net.UserWrites("1", "u", "work")
	board := fx.awaitText("1", "run 20")
	if !board.Silent || fmt.Sprint(board.Buttons) != "[stop:1]" {
		t.Errorf("the board is %+v", board)
	}
	fx.touchFile("go")
	all, ok := fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
		return slices.ContainsFunc(calls, func(c gatewaytest.Call) bool { return c.Text == "All done." }) &&
			!slices.ContainsFunc(calls, func(c gatewaytest.Call) bool { return c.ID == board.ID && c.Details == "" })
	})
	if !ok {
		t.Fatalf("the board is neither folded nor removed: %+v", all)
	}
	folded := all[0]
	if folded.ID != board.ID || !strings.Contains(folded.Text, "✓ 20 steps") || len(folded.Buttons) > 0 ||
		!strings.HasPrefix(folded.Details, "run 1\nrun 2\n") || len(all) != 2 || all[1].Text != "All done." || all[1].Silent {
		return fmt.Errorf("left are %+v", all)
	}
	fx.awaitTrue("the record of the board is dropped", func() bool {
		left, err := fx.store.Transients(t.Context())
		return err == nil && len(left) == 0
	})
	fx.net.UserPresses("1", "u", "details:1")
	if got := fx.awaitText("1", "run 1\nrun 2\n"); !got.Private || !got.Silent {
		t.Errorf("the answer to Details is %+v", got)
	}
	fx.stop()
	if all := fx.net.Sent("1"); len(all) != 3 { // a fold whose answer came too late is removed
		return fmt.Errorf("left in the end are %+v", all)
	}
	return nil
}

func TestABoardThatAShutdownKeepsFromBeingFoldedIsFoldedAtTheNextStart(t *testing.T) {
	t.Parallel()
	fx := newStepsFixture(t)
	busy := gatewaytest.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Minute}
	fx.net.EditFault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Details != "" {
			return busy
		}
		return gatewaytest.Fault{}
	}
	fx.net.RemoveFault = func(gatewaytest.Call) gatewaytest.Fault { return busy }
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	board := fx.awaitText("1", "run 20")
	fx.touchFile("go")
	fx.awaitText("1", "All done.")
	fx.awaitIdle("1")
	fx.stop()
	fx.net.EditFault, fx.net.RemoveFault = nil, nil
	fx.start()
	if folded := fx.awaitText("1", "✓ 20 steps"); folded.ID != board.ID || len(fx.net.Sent("1")) != 2 {
		t.Errorf("left are %+v", fx.net.Sent("1"))
	}
	fx.stop()
}
