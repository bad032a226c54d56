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

func TestAfterAFailedDraftTheAnswerIsNotStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &draftNetwork{}
		n.fault = func(call string) error {
			if n.off = n.off || strings.HasPrefix(call, "draft"); strings.HasPrefix(call, "draft") {
				return errors.New("unknown method")
			}
			return nil
		}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			for i := range 20 {
				emit(partial(strings.Repeat("x", i+1)))
				time.Sleep(5 * time.Second)
			}
			emit(message("It is."))
			emit(partial("And"))
			time.Sleep(3 * time.Second)
			emit(message("And bye."))
		})
		checkEqual(t, "calls", n.calls, "[draft x send It is. send silently And replace m2 And bye. send ✓ done, 1 min]")
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
