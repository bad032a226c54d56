package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

func TestTheFoldOfAShortTurnStartsNoBoard(t *testing.T) {
	for required, posted := range map[bool][]string{false: {"All done."}, true: {"1 step · $0.12", "All done."}} {
		for range 20 { // the order of goroutines must not matter
			synctest.Test(t, func(t *testing.T) {
				fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
					time.Sleep(200 * time.Millisecond)
					emit(foldFrame(1, required))
					emit(terminal.Frame{Kind: terminal.Message, Text: "All done."})
					return terminal.Done, nil
				})
				checkEqual(t, "posted", fx.box.posted, posted)
				checkEqual(t, "the fold notifies nobody", fx.box.notify[0].Silent, required)
				checkEqual(t, "boards", len(fx.box.shown)+len(fx.box.folded)+len(fx.box.removed), 0)
			})
		}
	}
}

func TestAProtocolIsToldWhetherTheChatShowsABoard(t *testing.T) {
	noEditor := func(fx *fixture) { fx.channels["net"] = struct{ channels.Channel }{fakeChannel{}} }
	progress := func(p turn.Progress) func(*fixture) {
		return func(fx *fixture) {
			agents := defaultAgentOnly(&fx.agent)
			a := agents[store.DefaultAgent]
			a.Progress = p
			agents[store.DefaultAgent] = a
			fx.Reload(turn.Settings{Agents: agents})
		}
	}
	verbose := func(level string) func(*fixture) {
		return func(fx *fixture) { fx.disk.memory = map[string]string{"ann/" + store.VerboseMemory: level} }
	}
	for name, c := range map[string]struct {
		prepare func(*fixture)
		hidden  bool
	}{
		"usually": {asItIs, false}, "no edits": {noEditor, true}, "messages": {progress(turn.SendProgress), true},
		"off": {progress(turn.HideProgress), true}, "verbose 0": {verbose(store.NoBoard), true}, "verbose 1": {verbose(""), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
					checkEqual(t, "hidden", chat.BoardHidden(), c.hidden)
					return terminal.Outcome{Status: terminal.Done}, nil
				})
				c.prepare(fx)
				fx.beginTurn().Run(t.Context())
				fx.stop()
			})
		})
	}
}

// unsentOutbox is a fakeOutbox whose transient messages cannot be sent, which it notices late.
type unsentOutbox struct{ *fakeOutbox }

func (unsentOutbox) Show(context.Context, outbox.Transient) (string, error) {
	time.Sleep(5 * time.Second)
	return "", &channels.SendError{Err: errors.New("refused"), Permanent: true}
}

func TestTheFoldOfABoardThatCouldNotBeSentIsAMessage(t *testing.T) {
	for when, c := range map[string]struct {
		pause time.Duration
		want  string
	}{"before the send has failed": {time.Second, "✓ 1 step · 1 s · $0.12"}, "after it": {10 * time.Second, "1 step · $0.12"}} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixtureWith(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
					if err := chat.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "run"}); err != nil {
						t.Error(err)
					}
					time.Sleep(c.pause)
					return terminal.Outcome{Status: terminal.Done}, chat.Emit(foldFrame(1, true))
				}, func(o *turn.Options) { o.Outbox = unsentOutbox{o.Outbox.(*fakeOutbox)} })
				fx.beginTurn().Run(t.Context())
				time.Sleep(time.Minute)
				synctest.Wait()
				fx.stop()
				checkEqual(t, "posted", fx.box.posted, []string{c.want})
			})
		})
	}
}

func TestTheBoardOfAnAbandonedTurnIsFolded(t *testing.T) {
	for range 20 { // the order of goroutines must not matter
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
				for _, f := range []terminal.Frame{{Kind: terminal.Progress, Board: true, Text: "run"}, foldFrame(1, false)} {
					if err := chat.Emit(f); err != nil {
						t.Error(err)
					}
					time.Sleep(5 * time.Second)
				}
				<-release
				return terminal.Outcome{}, nil
			})
			one := fx.beginTurn()
			time.AfterFunc(20*time.Second, func() { one.Cancel(turn.ErrStopped) })
			one.Run(t.Context())
			synctest.Wait()
			close(release)
			fx.stop()
			checkEqual(t, "folded", fx.box.folded, []string{"s1 ⏹ 1 step · 35 s · $0.12|ran 1|true"})
			checkEqual(t, "removed", fx.box.removed, []string{})
		})
	}
}

func TestABoardThatAPersonTypesIntoIsShownToThoseWhoWantNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			for i := range 3 {
				f := screenFrame("", fmt.Sprint("line ", i))
				f.TakenOver = i == 1
				if err := chat.Emit(f); err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Second)
			}
			return terminal.Outcome{Status: terminal.Done}, chat.Emit(foldFrame(1, false))
		})
		fx.channels["net"] = screenChannel{}
		fx.disk.memory = map[string]string{"ann/" + store.VerboseMemory: store.NoBoard}
		fx.beginTurn().Run(t.Context())
		synctest.Wait()
		fx.stop()
		if len(fx.box.shown) == 0 || !strings.HasPrefix(fx.box.shown[0], "|line 1") {
			t.Errorf("shown: %q", fx.box.shown)
		}
		checkEqual(t, "removed", len(fx.box.removed), 1)
		checkEqual(t, "folded", len(fx.box.folded), 0)
	})
}

// unansweredOutbox is a fakeOutbox that asks questions which nobody answers.
type unansweredOutbox struct{ *fakeOutbox }

func (unansweredOutbox) Ask(context.Context, store.Question, channels.Message) error { return nil }

func TestTheTimeThatAQuestionWaitsIsNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixtureWith(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			if err := chat.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "run"}); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Second)
			for range 2 {
				if _, err := chat.Ask(ctx, terminal.Question{ID: "q", Text: "Really?", Timeout: 50 * time.Minute}); err == nil {
					t.Error("somebody has answered")
				}
			}
			for _, f := range []terminal.Frame{foldFrame(1, false), {Kind: terminal.Message, Text: "All done."}} {
				if err := chat.Emit(f); err != nil {
					t.Error(err)
				}
			}
			return terminal.Outcome{Status: terminal.Done}, nil
		}, func(o *turn.Options) { o.Outbox = unansweredOutbox{o.Outbox.(*fakeOutbox)} })
		var typed atomic.Int32
		fx.channels["net"] = typingChannel{typed: &typed}
		fx.beginTurn().Run(t.Context())
		synctest.Wait()
		fx.stop()
		if got := strings.Join(fx.box.folded, ""); !strings.Contains(got, "✓ 1 step · 10 s · ") {
			t.Errorf("folded: %q", got)
		}
		checkEqual(t, "mentions after ten seconds of work", fx.box.notify, []channels.Notification{{}})
		if n := typed.Load(); n > 4 {
			t.Errorf("typing was shown %d times", n)
		}
	})
}
