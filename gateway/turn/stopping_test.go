package turn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// stopAfter runs a turn whose board changes often, stops it after a while, and returns the fixture
// and the time of the stop. The agent takes the time of ending to end.
func stopAfter(t *testing.T, work, ending time.Duration) (*fixture, time.Time) {
	t.Helper()
	fx := newFixtureWith(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
		for ctx.Err() == nil {
			if err := chat.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: time.Now().String()}); err != nil {
				t.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		time.Sleep(ending)
		return terminal.Outcome{Status: terminal.Stopped}, nil
	}, func(o *turn.Options) { o.AbandonAfter = time.Minute })
	fx.channels["net"] = screenChannel{}
	running := fx.beginTurn()
	var stopped time.Time
	time.AfterFunc(work, func() {
		stopped = time.Now()
		running.Cancel(turn.ErrStopped)
	})
	running.Run(t.Context())
	synctest.Wait()
	fx.stop()
	return fx, stopped
}

func TestTheBoardSaysWithinASecondThatATurnIsStopping(t *testing.T) {
	for _, work := range []time.Duration{50 * time.Millisecond, 1600 * time.Millisecond, 2500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			fx, stopped := stopAfter(t, work, 20*time.Second)
			last := len(fx.box.shown) - 1
			checkEqual(t, "last shown", fx.box.shown[last], "⏳ Stopping…")
			if took := fx.box.at[last].Sub(stopped); took > time.Second {
				t.Errorf("after %v of work it is shown %v after the stop", work, took)
			}
		})
	}
}

func TestATurnThatEndsAtOnceIsNotShownAsStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, stopped := stopAfter(t, 2*time.Second, 50*time.Millisecond)
		for i, text := range fx.box.shown {
			if fx.box.at[i].After(stopped) {
				t.Errorf("shown after the stop: %q", text)
			}
		}
	})
}
