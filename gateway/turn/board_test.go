package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
	"nanobot/terminal/screen"
)

// screenChannel is a channel that shows a screen as its rows, with the buttons below it.
type screenChannel struct{ fakeChannel }

func (screenChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	text := m.Text
	if m.Screen != nil {
		text += "|" + m.Screen.Text()
	}
	for _, b := range m.Buttons {
		text += fmt.Sprintf("[%s %v]", b.Data, b.Stays)
	}
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: text}}, nil
}

// screenFrame returns a board frame with a screen.
func screenFrame(caption, text string) terminal.Frame {
	s := screen.New(20, 3)
	_, _ = s.Write([]byte(text))
	return terminal.Frame{
		Kind: terminal.Progress, Board: true, Text: caption, Screen: s.Snapshot(), Buttons: []terminal.ControlButton{{Label: "Take over", Command: "/take"}},
	}
}

// runBoards runs a turn that emits frames, and returns the fixture.
func runBoards(t *testing.T, box *fakeOutbox, run func(emit func(terminal.Frame))) *fixture {
	t.Helper()
	fx := newFixtureWith(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
		run(func(f terminal.Frame) {
			if err := chat.Emit(f); err != nil {
				t.Error(err)
			}
		})
		return terminal.Outcome{Status: terminal.Done}, nil
	}, func(o *turn.Options) {
		if box != nil {
			o.Outbox = &failingOutbox{fakeOutbox: box}
		}
	})
	fx.channels["net"] = screenChannel{}
	fx.beginTurn().Run(t.Context())
	synctest.Wait()
	fx.stop()
	return fx
}

func TestAScreenIsTheBoardAndEditedNoMoreOftenThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := runBoards(t, nil, func(emit func(terminal.Frame)) {
			for i := range 100 {
				emit(screenFrame("Counting", fmt.Sprint("step ", i)))
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(4 * time.Second)
		})
		for i := 1; i < len(fx.box.at); i++ {
			if pause := fx.box.at[i].Sub(fx.box.at[i-1]); pause < 1500*time.Millisecond {
				t.Errorf("two edits within %v", pause)
			}
		}
		if n := len(fx.box.shown); n < 6 || n > 9 { // ten seconds of it, and the last
			t.Errorf("%d edits: %q", n, fx.box.shown)
		}
		checkEqual(t, "first shown", fx.box.shown[0], "Counting|step 0[/take true][stop:7 false]")
		checkEqual(t, "last shown", fx.box.shown[len(fx.box.shown)-1], "Counting|step 99[/take true][stop:7 false]")
		checkEqual(t, "posted", fx.box.posted, []string{})
		checkEqual(t, "removed", fx.box.removed, []string{"s1"})
	})
}

func TestAScreenThatLooksTheSameIsNotShownAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := runBoards(t, nil, func(emit func(terminal.Frame)) {
			for range 400 {
				emit(screenFrame("", "\x1b[31mwaiting"))
				emit(screenFrame("", "waiting")) // in another colour, which this network does not show
				time.Sleep(100 * time.Millisecond)
			}
		})
		checkEqual(t, "shown", fx.box.shown, []string{"|waiting[/take true][stop:7 false]", "(15 s)|waiting[/take true][stop:7 false]", "(30 s)|waiting[/take true][stop:7 false]"})
	})
}

func TestAScreenFollowsWhatThePersonWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running *turn.Turn
		fx := newFixtureWith(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			for i := range 8 {
				if err := chat.Emit(screenFrame("", fmt.Sprint("line ", i))); err != nil {
					t.Error(err)
				}
				if i == 1 {
					running.MoveBoardDown()
				}
				time.Sleep(2 * time.Second)
			}
			return terminal.Outcome{Status: terminal.Done}, nil
		}, func(*turn.Options) {})
		fx.channels["net"] = screenChannel{}
		running = fx.beginTurn()
		running.Run(t.Context())
		synctest.Wait()
		fx.stop()
		checkEqual(t, "removed", fx.box.removed, []string{"s1", "s3"}) // the third call sent it again
	})
}

// busyOutbox is a fakeOutbox whose network refuses transient messages for 10.5 seconds.
type busyOutbox struct {
	*fakeOutbox
	since time.Time
}

func (b *busyOutbox) Show(ctx context.Context, t outbox.Transient) (string, error) {
	if wait := 10500*time.Millisecond - time.Since(b.since); wait > 0 {
		return "", &channels.SendError{Err: errors.New("the rate limit is left to answers"), After: wait}
	}
	return b.fakeOutbox.Show(ctx, t)
}

func TestABoardThatMustGiveWayIsShownLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for frames, want := range map[int]string{1: "⏳ step 0", 3: "⏳ step 2"} { // as it is then
			fx := newFixtureWith(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
				for i := range frames {
					if err := chat.Emit(terminal.Frame{Kind: terminal.Progress, Text: fmt.Sprint("step ", i)}); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
				time.Sleep(11 * time.Second)
				return terminal.Outcome{Status: terminal.Done}, nil
			}, func(o *turn.Options) {
				o.Outbox = &busyOutbox{fakeOutbox: o.Outbox.(*fakeOutbox), since: time.Now()}
			})
			fx.beginTurn().Run(t.Context())
			synctest.Wait()
			fx.stop()
			checkEqual(t, "shown", fx.box.shown, []string{want})
		}
	})
}

// failingOutbox is a fakeOutbox whose third edit fails.
type failingOutbox struct {
	*fakeOutbox
	calls int
}

func (f *failingOutbox) Show(ctx context.Context, t outbox.Transient) (string, error) {
	if f.calls++; f.calls == 3 {
		return t.ID, &channels.SendError{Err: errors.New("too many requests"), After: 7 * time.Second}
	}
	return f.fakeOutbox.Show(ctx, t)
}

func TestAProtocolIsToldWhetherItsBoardCanBecomeTheSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []bool
		fx := newFixtureWith(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			got = append(got, chat.HasBoard())
			for i := range 4 {
				if err := chat.Emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: fmt.Sprint("step ", i)}); err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Second)
				got = append(got, chat.HasBoard())
			}
			time.Sleep(5 * time.Second)
			return terminal.Outcome{Status: terminal.Done}, nil
		}, func(o *turn.Options) { o.Outbox = &failingOutbox{fakeOutbox: o.Outbox.(*fakeOutbox)} })
		fx.beginTurn().Run(t.Context())
		synctest.Wait()
		fx.stop()
		checkEqual(t, "has a board", got, []bool{false, true, true, false, true}) // the third change is refused for seven seconds
	})
}

func TestTheLastScreenIsShownAlsoWhenTheNetworkRefusesItAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var box fakeOutbox
		runBoards(t, &box, func(emit func(terminal.Frame)) {
			for i := range 3 {
				emit(screenFrame("", fmt.Sprint("step ", i)))
				time.Sleep(2 * time.Second)
			}
			time.Sleep(8 * time.Second)
		})
		checkEqual(t, "last shown", box.shown[len(box.shown)-1], "|step 2[/take true][stop:7 false]")
		checkEqual(t, "shown", len(box.shown), 3)
	})
}

func TestAMessageHasItsScreenAndButtons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := screenFrame("The end", "$ done")
		f.Kind, f.Board = terminal.Message, false
		m := turn.FrameMessage(f)
		if m.Kind != channels.Answer || m.Text != "The end" || m.Screen.Text() != "$ done" || len(m.Buttons) != 1 || !m.Buttons[0].Stays {
			t.Errorf("the message is %+v", m)
		}
	})
}

func TestRedrawnScreensAreNotTraced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := 0
		s := turn.New(turn.Options{
			Channels: map[string]channels.Channel{"net": screenChannel{}}, Store: &fakeStore{}, Outbox: &fakeOutbox{}, Wake: func() {}, Log: zap.NewNop(),
			Access: fakeAccess{}, Notices: fakeNotices{},
			Events: func(e events.Event) {
				if e.Type == events.Output {
					said++
				}
			},
		})
		s.Reload(turn.Settings{Agents: defaultAgentOnly(&fakeRunner{run: func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			for i := range 300 {
				if err := chat.Emit(screenFrame(fmt.Sprint("plan ", i/100), fmt.Sprint("step ", i))); err != nil {
					t.Error(err)
				}
			}
			return terminal.Outcome{Status: terminal.Done}, nil
		}})})
		one := s.NewTurn(store.Inbound{ID: 7, In: channels.Incoming{Chat: ann}}, &fakeSlot{})
		one.Run(t.Context())
		var lines []string
		for _, l := range one.Trace().Lines {
			lines = append(lines, l.Text)
		}
		checkEqual(t, "traced", strings.Join(lines, ", "), "plan 0, plan 1, plan 2")
		checkEqual(t, "told", said, 3)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.Run(ctx)
	})
}

// hangingOutbox is a fakeOutbox whose edits hang until the end of the turn.
type hangingOutbox struct{ *fakeOutbox }

func (b hangingOutbox) Show(ctx context.Context, t outbox.Transient) (string, error) {
	if t.ID != "" {
		<-t.Over.Done()
		return t.ID, context.Canceled
	}
	return b.fakeOutbox.Show(ctx, t)
}

func TestAnEditThatHangsDoesNotDelayTheEndOfTheBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixtureWith(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			for _, f := range []terminal.Frame{{Kind: terminal.Progress, Board: true, Text: "one"}, {Kind: terminal.Progress, Board: true, Text: "two"}, foldFrame(1, false)} {
				if err := chat.Emit(f); err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Second)
			}
			return terminal.Outcome{Status: terminal.Done}, nil
		}, func(o *turn.Options) { o.Outbox = hangingOutbox{o.Outbox.(*fakeOutbox)} })
		fx.beginTurn().Run(t.Context())
		time.Sleep(time.Second)
		synctest.Wait()
		checkEqual(t, "folded", fx.box.folded, []string{"s1 ✓ 1 step · 15 s · $0.12|ran 1|true"})
		fx.stop()
	})
}

func TestTheBoardIsNotChangedBetweenItsLastFrameAndTheEndOfTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := runFor(t, asItIs, func(_ context.Context, emit func(terminal.Frame)) (terminal.Status, error) {
			emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "one"})
			time.Sleep(5 * time.Second)
			emit(foldFrame(2, false))
			emit(terminal.Frame{Kind: terminal.Message, Text: "All done."})
			time.Sleep(time.Minute)
			return terminal.Done, nil
		})
		checkEqual(t, "last shown", fx.box.shown[len(fx.box.shown)-1], "⏳ one (3 s)")
		checkEqual(t, "folded", fx.box.folded, []string{"s1 ✓ 2 steps · 1 min · $0.12|ran 2|true"})
	})
}
