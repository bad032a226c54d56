package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/terminal"
)

// draftNetwork is a chatNetwork with drafts.
type draftNetwork struct {
	chatNetwork
	off  bool // Drafts returns false
	keys map[string]bool
	at   []time.Time
}

func (n *draftNetwork) Drafts(channels.Chat) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.off
}

func (n *draftNetwork) Draft(ctx context.Context, key string, o channels.Outgoing) error {
	err := n.carryOut(func() {
		if n.keys == nil {
			n.keys = map[string]bool{}
		}
		n.keys[key] = true
		n.at = append(n.at, time.Now())
	}, "draft %s", o.Text)
	return errors.Join(err, ctx.Err())
}

func TestAnAnswerIsShownAsADraftAndSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &draftNetwork{}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(3 * time.Second)
			emit(partial("It is"))
			time.Sleep(30 * time.Second)
			emit(message("It is."))
			emit(partial("And"))
			time.Sleep(3 * time.Second)
			emit(message("And bye."))
		})
		checkEqual(t, "calls", n.calls, "[draft It draft It is draft It is send It is. draft And send And bye.]")
		checkEqual(t, "keys", len(n.keys), 2)
		checkEqual(t, "renewed after", n.at[2].Sub(n.at[1]), 20*time.Second)
	})
}

func TestADraftShowsTheEndOfALongText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &draftNetwork{}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial("twenty characters:  the end"))
			time.Sleep(3 * time.Second)
			emit(message("Bye."))
		})
		checkEqual(t, "calls", n.calls, "[draft the end send Bye.]")
	})
}

// refusedForGood is the error of a call that the network refuses for good.
var refusedForGood = &channels.SendError{Err: errors.New("no"), Permanent: true}

func TestAfterAFailedDraftTheAnswerIsNotStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &draftNetwork{}
		n.fault = func(call string) error {
			if strings.HasPrefix(call, "draft") {
				return refusedForGood
			}
			return nil
		}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			for i := range 20 {
				emit(partial(strings.Repeat("x", i+1)))
				time.Sleep(5 * time.Second)
			}
			emit(message("It is."))
		})
		checkEqual(t, "drafts", n.called("draft"), "[draft x]")
		checkEqual(t, "edits of the answer", n.called("send silently x"), "[]")
		checkEqual(t, "shown", n.shown(), "It is.")
	})
}

func TestWhereTheServerHasNoDraftsTheFirstAnswerIsShownByEditsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &draftNetwork{}
		n.fault = func(call string) error {
			if n.off = n.off || strings.HasPrefix(call, "draft"); strings.HasPrefix(call, "draft") {
				return errors.New("unknown method")
			}
			return nil
		}
		runWithBoard(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(600 * time.Millisecond)
			checkEqual(t, "shown", n.shown(), "It")
			checkEqual(t, "stoppable", n.stoppable(), "It")
			emit(partial("It is"))
			time.Sleep(2 * time.Second)
			emit(message("It is."))
		})
		checkEqual(t, "calls", n.calls, "[draft It send silently It edit m1 It is replace m1 It is.]")
	})
}

func TestADraftHasNoBoardUnlessThereAreSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &draftNetwork{}
		runWithBoard(t, n, func(emit func(terminal.Frame)) {
			time.Sleep(4 * time.Second)
			checkEqual(t, "before", n.shown(), "⏳ Working… (3 s)")
			emit(partial("It"))
			time.Sleep(15 * time.Second)
			checkEqual(t, "during the draft", n.shown(), "")
			emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "run 1", Step: 1})
			time.Sleep(3 * time.Second)
			checkEqual(t, "stoppable", n.stoppable(), "⏳ run 1 (step 1 · 19 s)")
			emit(message("It is."))
		})
		checkEqual(t, "calls", n.calls, "[send silently ⏳ Working… (3 s) draft It remove m1 "+
			"send silently ⏳ run 1 (step 1 · 19 s) draft It send It is. remove m2]")
	})
}

func TestADraftThatHangsDelaysTheAnswerByASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &draftNetwork{}
		n.hold = func(call string) {
			if strings.HasPrefix(call, "draft") {
				time.Sleep(time.Minute)
			}
		}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(3 * time.Second)
			emit(message("It is."))
			time.Sleep(time.Second)
			checkEqual(t, "sent", n.called("send"), "[send It is.]")
		})
	})
}
