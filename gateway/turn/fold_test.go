package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// runFor runs a turn whose agent works, on a stage whose turns have a board after three seconds.
func runFor(t *testing.T, prepare func(*fixture), run func(ctx context.Context, emit func(terminal.Frame)) (terminal.Status, error)) *fixture {
	t.Helper()
	fx := newFixtureWith(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
		status, err := run(ctx, func(f terminal.Frame) {
			if err := chat.Emit(f); err != nil {
				t.Error(err)
			}
		})
		return terminal.Outcome{Status: status}, err
	}, func(o *turn.Options) { o.BoardDelay = 0 })
	prepare(fx)
	fx.beginTurn().Run(t.Context())
	synctest.Wait()
	fx.stop()
	return fx
}

func asItIs(*fixture) {}

// foldFrame returns the last board frame of a turn with steps.
func foldFrame(steps int, required bool) terminal.Frame {
	return terminal.Frame{Kind: terminal.Progress, Board: true, Text: fmt.Sprint("run ", steps), Step: steps, Fold: &terminal.Fold{
		Steps: steps, Files: steps / 5, Cost: "$0.12", Details: fmt.Sprint("ran ", steps), Required: required,
	}}
}

// toolTurn emits the boards of a turn with steps, as a protocol does, and its answer.
func toolTurn(steps int, emit func(terminal.Frame)) {
	for i := 1; i <= steps; i++ {
		emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: fmt.Sprint("run ", i), Step: i})
		time.Sleep(10 * time.Second)
	}
	emit(foldFrame(steps, false))
	emit(terminal.Frame{Kind: terminal.Message, Text: "All done."})
}

func TestATurnOfTwentyStepsLeavesTheFoldedBoardAndTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
			toolTurn(20, emit)
			return terminal.Done, nil
		})
		checkEqual(t, "posted", fx.box.posted, []string{"All done."})
		checkEqual(t, "folded", fx.box.folded, []string{"s1 ✓ 20 steps · 3 min · 4 files · $0.12|ran 20|true"})
		checkEqual(t, "removed", fx.box.removed, []string{})
		checkEqual(t, "stored details", fx.disk.details, "ran 20")
		checkEqual(t, "shown third", fx.box.shown[2], "⏳ run 2 (step 2 · 10 s)")
	})
}

func TestAFoldedBoardSaysHowTheTurnEnded(t *testing.T) {
	for want, run := range map[string]func() (terminal.Status, error){
		"s1 ✓ 1 step · 10 s · $0.12|ran 1|true": func() (terminal.Status, error) { return terminal.Done, nil },
		"s1 ✗ 1 step · 10 s · $0.12|ran 1|true": func() (terminal.Status, error) { return terminal.Failed, nil },
		"s1 ⏹ 1 step · 10 s · $0.12|ran 1|true": func() (terminal.Status, error) { return terminal.Stopped, nil },
		"s1 🚫 1 step · 10 s · $0.12|ran 1|true": func() (terminal.Status, error) { return terminal.Refused, nil },
		"s1 – 1 step · 10 s · $0.12|ran 1|true": func() (terminal.Status, error) { return terminal.Silent, nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
				toolTurn(1, emit)
				return run()
			})
			checkEqual(t, "folded", fx.box.folded, []string{want})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
			toolTurn(1, emit)
			return terminal.Done, errors.New("cannot start")
		})
		checkEqual(t, "folded", fx.box.folded, []string{"s1 ✗ 1 step · 10 s · $0.12|ran 1|true"})
	})
}

func TestTheBoardOfATurnThatTimedOutIsFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
			emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "run 1", Step: 1})
			time.Sleep(time.Minute)
			emit(foldFrame(1, true))
			emit(terminal.Frame{Kind: terminal.Error, Text: "Timed out after 60 s."})
			return terminal.TimedOut, nil
		})
		checkEqual(t, "posted", fx.box.posted, []string{"Timed out after 60 s."})
		checkEqual(t, "folded", fx.box.folded, []string{"s1 ✗ 1 step · 1 min · $0.12|ran 1|true"})
	})
}

func TestATurnWithoutProgressHasABoardAfterThreeSeconds(t *testing.T) {
	for took, want := range map[time.Duration][]string{
		2900 * time.Millisecond: nil,
		10 * time.Second:        {"⏳ Working… (3 s)"},
		40 * time.Second:        {"⏳ Working… (3 s)", "⏳ Working… (18 s)", "⏳ Working… (33 s)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			fx := runFor(t, asItIs, func(context.Context, func(terminal.Frame)) (terminal.Status, error) {
				time.Sleep(took)
				return terminal.Done, nil
			})
			checkEqual(t, "shown", fx.box.shown, want)
			checkEqual(t, "removed", len(fx.box.removed), min(len(want), 1))
			checkEqual(t, "folded", fx.box.folded, []string{})
		})
	}
}

// silentOutbox reports transient messages that would notify people, and those without Stop.
type silentOutbox struct {
	*fakeOutbox
	t *testing.T
}

func (s *silentOutbox) Show(ctx context.Context, t outbox.Transient) (string, error) {
	if !t.Out.Silent || len(t.Out.Buttons) != 1 || t.Out.Buttons[0].Data != "stop:7" {
		s.t.Errorf("the board is %+v", t.Out)
	}
	return s.fakeOutbox.Show(ctx, t)
}

func TestABoardIsSilentAndHasAStopButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixtureWith(t, func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
			time.Sleep(20 * time.Second)
			return terminal.Outcome{Status: terminal.Done}, nil
		}, func(o *turn.Options) {
			o.BoardDelay, o.Outbox = 0, &silentOutbox{o.Outbox.(*fakeOutbox), t}
		})
		fx.beginTurn().Run(t.Context())
		fx.stop()
		checkEqual(t, "shown", len(fx.box.shown), 2)
	})
}

func TestAProgressFrameIsShownAtOnceAndTheTimeAfterThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
			emit(terminal.Frame{Kind: terminal.Progress, Text: "Reading"})
			time.Sleep(10 * time.Second)
			emit(terminal.Frame{Kind: terminal.Progress, Text: "A plan:\n1. read"})
			time.Sleep(2 * time.Second)
			return terminal.Done, nil
		})
		checkEqual(t, "shown", strings.Join(fx.box.shown, ", "), "⏳ Reading, ⏳ Reading (3 s), ⏳ A plan:\n1. read\n10 s")
		checkEqual(t, "first shown after", fx.box.at[1].Sub(fx.box.at[0]), 3*time.Second)
	})
}

func TestABoardMovesDownOnlyBelowMoreThanTwoMessages(t *testing.T) {
	for messages, moved := range map[int]int{2: 0, 3: 1} {
		synctest.Test(t, func(t *testing.T) {
			fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
				emit(terminal.Frame{Kind: terminal.Progress, Text: "Reading"})
				time.Sleep(time.Second)
				for range messages {
					emit(terminal.Frame{Kind: terminal.Message, Text: "remark", Silent: true})
				}
				time.Sleep(30 * time.Second)
				return terminal.Done, nil
			})
			checkEqual(t, fmt.Sprint("removed below ", messages), len(fx.box.removed), moved+1)
		})
	}
}

func TestAChatWithoutBoardsSeesNoProgressAndTheAnswer(t *testing.T) {
	for what, prepare := range map[string]func(*fixture){
		"a channel that edits": asItIs,
		"a channel that does not": func(fx *fixture) {
			fx.channels["net"] = struct{ channels.Channel }{fakeChannel{}}
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := runFor(t, func(fx *fixture) {
					prepare(fx)
					fx.disk.memory = map[string]string{"ann/" + store.VerboseMemory: store.NoBoard}
				}, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
					emit(terminal.Frame{Kind: terminal.Progress, Text: "Reading"})
					toolTurn(2, emit)
					return terminal.Done, nil
				})
				checkEqual(t, "posted", fx.box.posted, []string{"All done."})
				checkEqual(t, "shown", len(fx.box.shown)+len(fx.box.folded)+len(fx.box.removed), 0)
			})
		})
	}
}

func TestOnlyAnswersOfLongTurnsMentionTheAskerAndRemarksAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := runFor(t, func(fx *fixture) { fx.channels["net"] = struct{ channels.Channel }{fakeChannel{}} }, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
			emit(terminal.Frame{Kind: terminal.Progress, Text: "Reading"})
			emit(terminal.Frame{Kind: terminal.Message, Text: "soon"})
			time.Sleep(21 * time.Second)
			emit(terminal.Frame{Kind: terminal.Message, Text: "a remark", Silent: true})
			emit(terminal.Frame{Kind: terminal.Message, Text: "the answer"})
			emit(terminal.Frame{Kind: terminal.Error, Text: "broken"})
			return terminal.Failed, nil
		})
		silent, mention := channels.Notification{Silent: true}, channels.Notification{Mention: true}
		checkEqual(t, "notifications", fx.box.notify, []channels.Notification{silent, {}, silent, mention, mention})
	})
}

func TestTheBoardOfATurnThatIsCutOffIsRemovedAndNotFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixtureWith(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			_ = chat.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "run"})
			synctest.Wait()
			_ = chat.Emit(foldFrame(1, true))
			<-ctx.Done()
			return terminal.Outcome{Status: terminal.Stopped}, nil
		}, func(*turn.Options) {})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		fx.beginTurn().Run(ctx)
		synctest.Wait()
		fx.stop()
		checkEqual(t, "removed", fx.box.removed, []string{"s1"})
		checkEqual(t, "folded", fx.box.folded, []string{})
	})
}

func TestTheBoardsOfEndedTurnsAreFoldedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixtureWith(t, nil, func(*turn.Options) {})
		board := store.Transient{Chat: channels.Chat{Channel: "net", ID: "ann"}, ID: "b1", Inbound: 7, Board: true}
		fold := store.Fold{Summary: "✓ 2 steps", Details: "read", Required: true}
		musttest.Do(t, fx.Recover(t.Context(), store.Adopted{Folds: []store.PendingFold{{Fold: fold, Board: board, MessageID: "m1"}, {Fold: fold, Board: board, Replaced: true}}}))
		fx.stop()
		checkEqual(t, "folded", fx.box.folded, []string{"b1 ✓ 2 steps|read|true"})
		checkEqual(t, "removed, as a message replaces it", fx.box.removed, []string{"b1"})
	})
}
