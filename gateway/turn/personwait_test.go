package turn_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/turn"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// typingChannel is a channel that counts typing indicators.
type typingChannel struct {
	screenChannel
	typed *atomic.Int32
}

func (n typingChannel) Typing(context.Context, channels.Chat) error {
	n.typed.Add(1)
	return nil
}

// personWaitAgent works for a while, waits for a message, and works again.
func personWaitAgent(worked, waited time.Duration) func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
	return func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
		if err := chat.Emit(terminal.Frame{Kind: terminal.Progress, Text: "round 1"}); err != nil {
			return terminal.Outcome{}, err
		}
		time.Sleep(worked)
		resume := chat.AwaitPerson(ctx)
		select {
		case <-time.After(waited):
		case <-ctx.Done():
		}
		if err := resume(ctx); err != nil {
			return terminal.Outcome{Status: terminal.Stopped}, chat.Emit(terminal.Frame{Kind: terminal.Message, Text: err.Error()})
		}
		select {
		case <-time.After(worked):
		case <-ctx.Done():
			return terminal.Outcome{Status: terminal.Stopped}, nil
		}
		return terminal.Outcome{Status: terminal.Done}, nil
	}
}

// newPersonWaitFixture is a fixture with that agent and a function that offers the queue.
func newPersonWaitFixture(t *testing.T, worked, waited time.Duration, offer func() error) *fixture {
	t.Helper()
	return newFixtureWith(t, personWaitAgent(worked, waited), func(o *turn.Options) {
		o.OfferQueue = func(context.Context, channels.Chat) error { return offer() }
	})
}

func noQueue() error { return nil }

func TestATurnThatWaitsForAPersonShowsNoActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newPersonWaitFixture(t, 20*time.Second, 5*time.Hour, noQueue)
		var typed atomic.Int32
		fx.channels["net"] = typingChannel{typed: &typed}
		one, done := fx.beginTurn(), make(chan struct{})
		go func() {
			defer close(done)
			one.Run(t.Context())
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		before := typed.Load()
		checkEqual(t, "waits since", time.Since(one.WaitingSince()), 40*time.Second)
		checkEqual(t, "the slot is free", fx.slot.released.Load(), true)
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		checkEqual(t, "typing shown meanwhile", typed.Load()-before, 0)
		fx.box.mu.Lock()
		checkEqual(t, "shown", strings.Join(fx.box.shown, ", "), "⏳ round 1[stop:7 false], ⏳ round 1 (15 s)[stop:7 false], round 1 (waiting for you)[stop:7 false]")
		fx.box.mu.Unlock()
		<-done
		checkEqual(t, "waits", one.WaitingSince().IsZero(), true)
		synctest.Wait()
		fx.stop()
		checkEqual(t, "shown at last", fx.box.shown[len(fx.box.shown)-1], "⏳ round 1 (30 s)[stop:7 false]")
		if typed.Load() == before {
			t.Error("nobody was shown typing afterwards")
		}
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done done []"})
	})
}

func TestAShutdownCutsOffATurnThatWaitsForAPerson(t *testing.T) {
	for name, early := range map[string]bool{"while it waits": false, "before it waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newPersonWaitFixture(t, time.Second, 5*time.Hour, noQueue)
				began := time.Now()
				if !early {
					time.AfterFunc(2*time.Second, fx.EndPersonWaits)
				} else {
					fx.EndPersonWaits()
				}
				fx.beginTurn().Run(t.Context())
				fx.stop()
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %s", took)
				}
				checkEqual(t, "recorded", fx.disk.ends, []string{"7 again, unbegun true"})
				checkEqual(t, "said", len(fx.box.posted), 0)
				checkEqual(t, "it runs again", process.Record(fx.disk.process).NeverStarted(), true)
			})
		})
	}
}

func TestATurnThatResumesAfterAWaitIsCutOffLikeOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newPersonWaitFixture(t, time.Hour, time.Hour, noQueue)
		ctx, kill := context.WithCancel(t.Context())
		time.AfterFunc(150*time.Minute, kill)
		time.AfterFunc(151*time.Minute, fx.EndPersonWaits) // it does not wait any more
		fx.beginTurn().Run(ctx)
		fx.stop()
		time.Sleep(time.Hour)
		checkEqual(t, "it seems not to have begun", process.Record(fx.disk.process).NeverStarted(), false)
	})
}

func TestATurnThatIsStoppedWhileItWaitsTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newPersonWaitFixture(t, time.Second, 5*time.Hour, noQueue)
		one := fx.beginTurn()
		time.AfterFunc(time.Minute, func() { one.Cancel(turn.ErrStopped) })
		one.Run(t.Context())
		fx.stop()
		checkEqual(t, "the slot is free", fx.slot.released.Load(), true)
		checkEqual(t, "said", fx.box.posted, []string{turn.ErrStopped.Error()})
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done stopped []"})
	})
}

func TestTheQueueIsOfferedUntilItIsReadAndAgainWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		fx := newPersonWaitFixture(t, time.Second, time.Hour, func() error {
			if calls.Add(1) < 3 {
				return errors.New("disk full")
			}
			return nil
		})
		one := fx.beginTurn()
		time.AfterFunc(time.Minute, func() { checkEqual(t, "offered", calls.Load(), 3) })
		time.AfterFunc(2*time.Minute, one.OfferQueueAgain)
		one.Run(t.Context())
		fx.stop()
		checkEqual(t, "offered", calls.Load(), 4)
	})
}

// readingRunner is a fakeRunner whose agent has read the message m1 before.
type readingRunner struct{ fakeRunner }

func (*readingRunner) ReadsMessages() bool { return true }

func (*readingRunner) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	if m.Chat != "net:ann" || m.Text != "hello" {
		return false, errors.New("it is another message")
	}
	return m.ID == "m1", nil
}

func TestAMessageThatAnEarlierTurnHasReadGetsNoAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		fx.Reload(turn.Settings{Agents: defaultAgentOnly(&readingRunner{fakeRunner{run: sayingAgent("hi")}})})
		one := fx.beginTurn()
		if one.MessageReader() == nil {
			t.Error("the turn does not read")
		}
		one.Run(t.Context())
		if one.MessageReader() != nil {
			t.Error("a turn that has ended reads")
		}
		fx.stop()
		checkEqual(t, "posted", len(fx.box.posted), 0)
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done done []"})
	})
}

func TestATurnAbandonedDuringAWaitKeepsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan error)
		fx := newFixtureWith(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			resume := chat.AwaitPerson(ctx)
			time.Sleep(time.Hour) // deaf to its context
			late <- resume(context.WithoutCancel(ctx))
			return terminal.Outcome{}, nil
		}, func(o *turn.Options) {
			o.OfferQueue = func(context.Context, channels.Chat) error { return nil }
		})
		one := fx.beginTurn()
		time.AfterFunc(time.Minute, func() { one.Cancel(turn.ErrStopped) })
		one.Run(t.Context())
		if err := <-late; err == nil {
			t.Error("it was told to go on")
		}
		fx.stop()
		checkEqual(t, "the slot is free", fx.slot.released.Load(), true)
	})
}

func TestATurnThatIsStoppedBeforeAShutdownDoesNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newPersonWaitFixture(t, time.Second, 5*time.Hour, noQueue)
		one := fx.beginTurn()
		time.AfterFunc(time.Minute, func() {
			one.Cancel(turn.ErrStopped)
			fx.EndPersonWaits()
		})
		one.Run(t.Context())
		fx.stop()
		for _, end := range fx.disk.ends {
			if end == "7 again, unbegun true" {
				t.Error("it runs again")
			}
		}
	})
}
