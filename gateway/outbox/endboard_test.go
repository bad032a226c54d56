package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// boardChannel is a channel that records its calls. A call that refuse has an error for is refused.
type boardChannel struct {
	channels.Channel
	refuse func(call string) error
	mu     sync.Mutex
	calls  []string // those that were carried out
}

func (*boardChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: m.Text}}, nil
}

func (c *boardChannel) do(call string) error {
	if c.refuse != nil {
		if err := c.refuse(call); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	return nil
}

func (c *boardChannel) Send(_ context.Context, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: "b1"}, c.do("send " + o.Text)
}

// errHangs has a call hang until its context ends.
var errHangs = errors.New("the call hangs")

func (c *boardChannel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	if !o.Transient {
		return errors.New("the edit does not give way to answers")
	}
	err := c.do("edit " + id + " " + o.Text)
	if errors.Is(err, errHangs) {
		<-ctx.Done()
	}
	return err
}

func (c *boardChannel) Remove(_ context.Context, _ channels.Chat, id string) error {
	return c.do("remove " + id)
}

// boardFixture is an outbox with the board b1 of a turn.
type boardFixture struct {
	*outbox.Outbox
	t     *testing.T
	store *sqlite.Store
	ch    *boardChannel
	board store.Transient
	stop  func()
}

func newBoardFixture(t *testing.T, refuse func(call string) error) *boardFixture {
	t.Helper()
	r := &boardFixture{t: t, store: openStore(t), ch: &boardChannel{}}
	got := musttest.Get(r.store.Receive(t.Context(), store.ReceiveRequest{In: channels.Incoming{Chat: ann, ID: "1", Text: "hi"}, Claim: true}))(t)
	r.start()
	out := channels.Outgoing{Chat: ann, Kind: channels.Progress, Text: "working"}
	id := musttest.Get(r.Show(t.Context(), outbox.Transient{Inbound: got.Inbound.ID, Out: out, Board: true}))(t)
	r.board = store.Transient{Chat: ann, ID: id, Inbound: got.Inbound.ID, Board: true}
	r.ch.calls, r.ch.refuse = nil, refuse
	return r
}

// start starts an outbox, as a gateway does.
func (r *boardFixture) start() {
	r.Outbox = outbox.New(outbox.Options{
		Store: r.store, Channels: map[string]channels.Channel{"net": r.ch}, AtMostOnce: func() bool { return false }, Log: zap.NewNop(),
	})
	r.stop = runOutbox(r.t, r.Outbox)
}

func (r *boardFixture) answer() {
	r.t.Helper()
	m := &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "answer"}, Inbound: r.board.Inbound, Sequence: 1}
	musttest.Do(r.t, r.Post(r.t.Context(), m))
}

func (r *boardFixture) fold() {
	r.EndBoard(outbox.EndedBoard{Board: r.board, Folded: &channels.Outgoing{Chat: ann, Text: "folded"}})
}

func (r *boardFixture) check(calls string, recorded int) {
	r.t.Helper()
	r.ch.mu.Lock()
	defer r.ch.mu.Unlock()
	wanttest.Equal(r.t, "the calls are", fmt.Sprint(r.ch.calls), calls)
	if left, err := r.store.Transients(r.t.Context()); err != nil || len(left) != recorded {
		r.t.Errorf("recorded are %v, %v, want %d", left, err, recorded)
	}
}

// refuseFor refuses calls for a time, with the given error.
func refuseFor(d time.Duration, wanted string, err error) func(call string) error {
	until := time.Now().Add(d)
	return func(call string) error {
		if call[:4] == wanted && time.Now().Before(until) {
			return err
		}
		return nil
	}
}

func wait(d time.Duration) error {
	return &channels.SendError{Err: errors.New("too many requests"), After: d}
}

// ends are the two ways in which a board ends.
var ends = map[string]func(*boardFixture){
	"edit b1 folded": (*boardFixture).fold,
	"remove b1":      func(r *boardFixture) { r.EndBoard(outbox.EndedBoard{Board: r.board}) },
}

func TestABoardStaysUntilTheAnswerIsConfirmed(t *testing.T) {
	for call, end := range ends {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBoardFixture(t, refuseFor(500*time.Millisecond, "send", wait(500*time.Millisecond)))
				r.answer()
				end(r)
				time.Sleep(400 * time.Millisecond)
				r.check("[]", 1)
				time.Sleep(time.Second)
				r.stop()
				r.check("[send answer "+call+"]", 0)
			})
		})
	}
}

func TestABoardIsFoldedOrRemovedSoonHoweverLongTheAnswerWaits(t *testing.T) {
	for call, end := range ends {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBoardFixture(t, refuseFor(time.Hour, "send", wait(time.Hour)))
				r.answer()
				end(r)
				time.Sleep(2 * time.Second)
				r.check("["+call+"]", 0)
				r.stop()
			})
		})
	}
}

func TestARefusedFoldingIsTriedAgainAndRecordedUntilItIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBoardFixture(t, refuseFor(time.Second, "edit", wait(100*time.Millisecond)))
		r.fold()
		time.Sleep(900 * time.Millisecond)
		r.check("[]", 1)
		time.Sleep(800 * time.Millisecond)
		r.stop()
		r.check("[edit b1 folded]", 0)
	})
}

func TestABoardThatCannotBeFoldedWithinTwoSecondsIsRemoved(t *testing.T) {
	for what, err := range map[string]error{
		"a wait of 30 s": wait(30 * time.Second), "short waits": wait(100 * time.Millisecond), "no network": errors.New("no route"), "a hung call": errHangs,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBoardFixture(t, refuseFor(30*time.Second, "edit", err))
				r.fold()
				time.Sleep(1750 * time.Millisecond) // the removal may have to wait for a moment
				synctest.Wait()
				r.check("[remove b1]", 0)
				time.Sleep(time.Minute)
				r.stop()
				r.check("[remove b1]", 0)
			})
		})
	}
}

func TestABoardIsRemovedAtOnceIfItIsKnownOnlyLaterThatItsTurnHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBoardFixture(t, nil)
		r.EndBoard(outbox.EndedBoard{Board: r.board, Ended: time.Now().Add(-2 * time.Second), Folded: &channels.Outgoing{Chat: ann, Text: "folded"}})
		synctest.Wait()
		r.check("[remove b1]", 0)
		r.stop()
	})
}

func TestABoardThatCannotBeFoldedIsRemovedOnce(t *testing.T) {
	for what, err := range map[string]error{
		"for now": wait(time.Second), "for ever": &channels.SendError{Err: channels.ErrGone, Permanent: true}, "by a broken network": errors.New("no route"),
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBoardFixture(t, refuseFor(time.Hour, "edit", err))
				r.fold()
				time.Sleep(6 * time.Minute)
				r.check("[remove b1]", 0)
				r.stop()
				r.check("[remove b1]", 0)
			})
		})
	}
}

func TestADetailThatIsShownNowhereElseIsSentIfItsBoardCannotBeFolded(t *testing.T) {
	gone := &channels.SendError{Err: channels.ErrGone, Permanent: true}
	for what, c := range map[string]struct {
		refused time.Duration
		want    string
	}{"folded": {0, "[edit b1 folded]"}, "not folded": {time.Hour, "[remove b1 send diff]"}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBoardFixture(t, refuseFor(c.refused, "edit", gone))
				r.EndBoard(outbox.EndedBoard{
					Board: r.board, Folded: &channels.Outgoing{Chat: ann, Text: "folded"},
					Fallback: &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "diff"}, Inbound: r.board.Inbound},
				})
				time.Sleep(time.Minute)
				r.stop()
				slices.Sort(r.ch.calls) // the two calls do not wait for each other
				r.check(c.want, 0)
			})
		})
	}
}

func TestABoardDoesNotWaitForTheMessageThatReplacesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(10 * time.Second)
		r := newBoardFixture(t, func(call string) error {
			if call[:4] != "remo" && time.Now().Before(until) {
				return wait(10 * time.Second)
			}
			return nil
		})
		r.EndBoard(outbox.EndedBoard{
			Board: r.board, Folded: &channels.Outgoing{Chat: ann, Text: "folded"},
			Fallback: &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "diff"}, Inbound: r.board.Inbound},
		})
		time.Sleep(2 * time.Second)
		r.check("[remove b1]", 0)
		time.Sleep(time.Minute)
		r.stop()
		r.check("[remove b1 send diff]", 0)
	})
}

func TestARemovalIsTriedUntilTheNetworkCarriesItOut(t *testing.T) {
	endBoard := func(r *boardFixture) { r.EndBoard(outbox.EndedBoard{Board: r.board}) }
	remove := func(r *boardFixture) { r.Remove(r.board) }
	for what, c := range map[string]struct {
		err    error
		remove func(*boardFixture)
	}{
		"a wait":                               {wait(10 * time.Minute), endBoard},
		"no network":                           {errors.New("no route"), endBoard},
		"a wait for another transient message": {wait(10 * time.Minute), remove},
		"no network for it":                    {errors.New("no route"), remove},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBoardFixture(t, refuseFor(20*time.Minute, "remo", c.err))
				c.remove(r)
				time.Sleep(19 * time.Minute)
				r.check("[]", 1)
				time.Sleep(5 * time.Minute)
				r.check("[remove b1]", 0)
				r.stop()
			})
		})
	}
}

func TestABoardThatACrashLeavesIsRemovedAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(10 * time.Second)
		r := newBoardFixture(t, func(string) error {
			if time.Now().Before(until) {
				return wait(time.Second)
			}
			return nil
		})
		r.fold()
		r.Idle(t.Context()) // does not wait for the refused calls
		r.stop()
		r.check("[]", 1)
		left := musttest.Get(r.store.Transients(t.Context()))(t)
		time.Sleep(10 * time.Second)
		r.start()
		musttest.Do(t, r.Recover(t.Context(), store.Adopted{Transients: left}))
		r.Idle(t.Context())
		r.stop()
		r.check("[remove b1]", 0)
	})
}

func TestTheEndOfTheOutboxWaitsForABoardThatCanBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBoardFixture(t, func(call string) error {
			if call == "send answer" {
				time.Sleep(900 * time.Millisecond) // slow, but successful
			}
			return nil
		})
		r.answer()
		r.EndBoard(outbox.EndedBoard{Board: r.board})
		r.Idle(t.Context())
		r.stop()
		r.check("[send answer remove b1]", 0)
	})
}
