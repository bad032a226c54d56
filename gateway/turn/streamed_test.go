package turn_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/turn"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// chatNetwork is a channel that shows messages and records its calls. A text of more than 20 bytes
// fills several messages, and of more than 80 a document, unless it is progress.
type chatNetwork struct {
	channels.Channel
	mu       sync.Mutex
	messages []channels.Outgoing // by ID, from m1; without text and files: removed
	calls    []string
	fault    func(call string) error // nil: all calls succeed
	hold     func(call string)       // called before a call is carried out
}

func (n *chatNetwork) Plan(m channels.Message) (parts []channels.Outgoing, _ error) {
	text := m.Text
	for ; len(text) > 20 && m.Kind != channels.Progress; text = text[20:] {
		parts = append(parts, channels.Outgoing{Text: text[:20]})
	}
	if text != "" {
		parts = append(parts, channels.Outgoing{Text: text})
	}
	if len(parts) > 4 {
		parts = []channels.Outgoing{{Text: m.Text[:4] + "…", Media: []channels.File{{Name: "answer.txt", Content: m.Text}}}}
	}
	if len(m.Media) > 0 {
		if len(parts) == 0 {
			parts = []channels.Outgoing{{}}
		}
		parts[len(parts)-1].Media = append(parts[len(parts)-1].Media, m.Media...)
	}
	for i := range parts {
		parts[i].Chat, parts[i].Kind, parts[i].Notification = m.Chat, m.Kind, m.Notification
	}
	if len(parts) > 0 {
		parts[len(parts)-1].Buttons = m.Buttons
	}
	for i := range parts { // as on Discord, where the first part mentions the asker
		parts[i].Silent = m.Silent || strings.HasPrefix(m.Text, "first") && i > 0
	}
	return parts, nil
}

// carryOut carries out a call, unless it is to fail.
func (n *chatNetwork) carryOut(do func(), call string, args ...any) error {
	call = fmt.Sprintf(call, args...)
	if n.hold != nil {
		n.hold(call)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call)
	if n.fault != nil {
		if err := n.fault(call); err != nil {
			return err
		}
	}
	do()
	return nil
}

func (n *chatNetwork) Send(_ context.Context, o channels.Outgoing) (r channels.Receipt, err error) {
	how := "send"
	if o.Silent {
		how = "send silently"
	}
	err = n.carryOut(func() {
		n.messages = append(n.messages, o)
		r.ID = fmt.Sprint("m", len(n.messages))
	}, "%s %s", how, o.Text)
	return r, err
}

func (n *chatNetwork) at(id string) *channels.Outgoing {
	var i int
	_, _ = fmt.Sscanf(id, "m%d", &i)
	return &n.messages[i-1]
}

func (n *chatNetwork) Edit(_ context.Context, id string, o channels.Outgoing) error {
	return n.change(id, o, "edit")
}

// change edits a message, if it is still there.
func (n *chatNetwork) change(id string, o channels.Outgoing, how string) (gone error) {
	err := n.carryOut(func() {
		if n.at(id).Chat == (channels.Chat{}) {
			gone = &channels.SendError{Err: channels.ErrGone, Permanent: true}
			return
		}
		n.at(id).Text, n.at(id).Buttons = o.Text, o.Buttons
	}, "%s %s %s", how, id, o.Text)
	return cmp.Or(err, gone)
}

func (n *chatNetwork) Replace(_ context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, n.change(id, o, "replace")
}

func (n *chatNetwork) Remove(_ context.Context, _ channels.Chat, id string) error {
	return n.carryOut(func() { *n.at(id) = channels.Outgoing{} }, "remove %s", id)
}

// shown returns the texts in the chat, and the names of files in brackets.
func (n *chatNetwork) shown() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, m := range n.messages {
		text := m.Text
		for _, f := range m.Media {
			text += "[" + f.Name + "]"
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "|")
}

// stoppable returns the texts of the messages with a Stop button.
func (n *chatNetwork) stoppable() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, m := range n.messages {
		if len(m.Buttons) > 0 && m.Buttons[0].Role == channels.Stops {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, "|")
}

// called returns the calls that begin with a word.
func (n *chatNetwork) called(first string) (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if strings.HasPrefix(c, first) {
			all = append(all, c)
		}
	}
	return all
}

// runStreamed runs a turn on a channel, with a real outbox, and some minutes more.
func runStreamed(t *testing.T, ch channels.Channel, script func(emit func(terminal.Frame))) {
	t.Helper()
	streamRun{attempts: 1}.run(t, ch, script)
}

// runWithBoard is like runStreamed. The turn has a board after three seconds.
func runWithBoard(t *testing.T, ch channels.Channel, script func(emit func(terminal.Frame))) {
	t.Helper()
	streamRun{attempts: 1, board: true}.run(t, ch, script)
}

// streamRun is how a turn on a channel is run.
type streamRun struct {
	attempts int             // more than one: the turn is repeated, as after crashes at its end
	board    bool            // the turn has a board after three seconds
	status   terminal.Status // of the turn; "": Done
}

func (r streamRun) run(t *testing.T, ch channels.Channel, script func(emit func(terminal.Frame))) {
	t.Helper()
	disk := musttest.Get(sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{}))(t)
	all := map[string]channels.Channel{"net": ch}
	box := outbox.New(outbox.Options{Store: disk, Channels: all, AtMostOnce: func() bool { return false }, Log: zap.NewNop()})
	ctx, cancel := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	sending.Go(func() { box.Run(ctx) })
	fx := newFixtureWith(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
		script(func(f terminal.Frame) {
			if err := chat.Emit(f); err != nil {
				t.Error(err)
			}
		})
		return terminal.Outcome{Status: cmp.Or(r.status, terminal.Done)}, nil
	}, func(o *turn.Options) {
		o.Channels, o.Outbox = all, box
		if r.board {
			o.BoardDelay = 0
		}
	})
	for range r.attempts {
		fx.beginTurn().Run(t.Context())
		time.Sleep(5 * time.Minute)
	}
	left, err := disk.Transients(t.Context())
	if err != nil || len(left) > 0 {
		t.Errorf("recorded as transient are %+v (%v)", left, err)
	}
	fx.stop()
	cancel()
	sending.Wait()
	if err := disk.Close(); err != nil {
		t.Error(err)
	}
}

func partial(text string) terminal.Frame {
	return terminal.Frame{Kind: terminal.Partial, Text: text}
}

func message(text string) terminal.Frame {
	return terminal.Frame{Kind: terminal.Message, Text: text}
}

func TestTheEndOfAStreamedAnswerIsToldUnlessAnotherMessageNotifies(t *testing.T) {
	for name, c := range map[string]struct {
		script func(emit func(terminal.Frame))
		want   string // all calls that send
	}{
		"it was streamed": {func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(41 * time.Second)
			emit(message("It is."))
		}, "[send silently It send ✓ done, 41 s]"},
		"the agent has thought for long": {func(emit func(terminal.Frame)) {
			time.Sleep(70 * time.Second)
			emit(partial("It"))
			time.Sleep(2 * time.Second)
			emit(message("It is."))
		}, "[send silently It send ✓ done, 1 min]"},
		"the person is still looking": {func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(3 * time.Second)
			emit(message("It is."))
		}, "[send silently It]"},
		"it was not streamed": {func(emit func(terminal.Frame)) {
			time.Sleep(time.Minute)
			emit(message("It is."))
		}, "[send It is.]"},
		"its last part is new": {func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(time.Minute)
			emit(message("It is done, all of it. Bye."))
		}, "[send silently It send t. Bye.]"},
		"another one follows": {func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(time.Minute)
			emit(message("It is."))
			emit(message("Bye."))
		}, "[send silently It send Bye.]"},
		"it cannot be edited": {func(emit func(terminal.Frame)) {
			emit(partial("refused"))
			time.Sleep(time.Minute)
			emit(message("refused, so new"))
		}, "[send silently refused send silently refused, so new send ✓ done, 1 min]"},
		"the network notifies of its first part": {func(emit func(terminal.Frame)) {
			emit(partial("first"))
			time.Sleep(time.Minute)
			emit(message("first, but also a second part"))
		}, "[send silently first send silently cond part send ✓ done, 1 min]"},
		"two were streamed": {func(emit func(terminal.Frame)) {
			for range 2 {
				emit(partial("It"))
				time.Sleep(time.Minute)
				emit(message("It is."))
			}
		}, "[send silently It send silently It send ✓ done, 2 min]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &chatNetwork{fault: func(call string) error {
					if strings.HasPrefix(call, "replace m1 refused") {
						return refusedForGood
					}
					return nil
				}}
				runStreamed(t, n, c.script)
				wanttest.Equal(t, "sent was", fmt.Sprint(n.called("send")), c.want)
				if gone := n.called("remove"); len(gone) > 0 && !strings.Contains(c.want, "refused") {
					t.Errorf("removed was %q", gone)
				}
			})
		})
	}
}

func TestWhoStopsATurnIsNotToldThatItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		streamRun{attempts: 1, status: terminal.Stopped}.run(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(41 * time.Second)
			emit(message("It is."))
		})
		checkEqual(t, "shown", n.shown(), "It is.")
	})
}

func TestATurnThatIsRepeatedAfterACrashTellsItsEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, attempt := &chatNetwork{}, 0
		streamRun{attempts: 2}.run(t, n, func(emit func(terminal.Frame)) {
			attempt++
			emit(partial("It"))
			time.Sleep(time.Duration(attempt) * 20 * time.Second)
			emit(message("It is."))
		})
		checkEqual(t, "rings", n.called("send ✓"), "[send ✓ done, 20 s]")
		checkEqual(t, "shown", n.shown(), "It is.|✓ done, 20 s")
	})
}

func TestOnlyTheChangedPartsOfAStreamedAnswerAreEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		text := strings.Repeat("twenty characters:  ", 3)
		var ended time.Time
		n.hold = func(call string) {
			if strings.HasPrefix(call, "replace") && time.Since(ended) > 0 {
				t.Errorf("%s was made %s after the end", call, time.Since(ended))
			}
		}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial(text + "It"))
			time.Sleep(time.Minute)
			ended = time.Now()
			emit(message(text + "It is."))
		})
		checkEqual(t, "replaced", n.called("replace"), "[replace m4 It is.]")
		checkEqual(t, "shown", n.shown(), strings.Repeat("twenty characters:  |", 3)+"It is.|✓ done, 1 min")
		checkEqual(t, "removed", n.called("remove"), "[]")
	})
}

func TestAStreamedAnswerThatBecomesTooLongGoesOnInAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			for i := 1; i < 9; i++ {
				emit(partial(strings.Repeat(line, i)))
				time.Sleep(10 * time.Second)
			}
			beginning := strings.Repeat(line+"|", 4)
			checkEqual(t, "while it is written", n.shown(), beginning+"…ty characters:  ")
			checkEqual(t, "stoppable", n.stoppable(), "…ty characters:  ")
			emit(partial(strings.Repeat(line, 8) + "now"))
			time.Sleep(10 * time.Second)
			checkEqual(t, "a little later", n.shown(), beginning+"…characters:  now")
			emit(message(strings.Repeat(line, 8) + "the end"))
		})
		want := strings.Repeat(line+"|", 4) + "…acters:  the end[answer.txt]"
		checkEqual(t, "shown", n.shown(), want)
		checkEqual(t, "removed", n.called("remove"), "[remove m5]")
	})
}

func TestTheShownTextSaysThatTheAnswerGoesOnInAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It")) // and as much of the note as fits into the messages that are shown
			time.Sleep(10 * time.Second)
			emit(message(strings.Repeat("long", 40)))
		})
		checkEqual(t, "shown", n.shown(), "It|…"+strings.Repeat("long", 4)+"[answer.txt]")
		checkEqual(t, "removed", n.called("remove"), "[]")
	})
}

func TestAStreamedTextBecomesTheCaptionOfTheAnswersFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		path := filepath.Join(t.TempDir(), "a.png")
		musttest.Do(t, os.WriteFile(path, []byte("x"), 0o600))
		file := musttest.Get(os.Open(path))(t)
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial("Look"))
			time.Sleep(10 * time.Second)
			emit(terminal.Frame{Kind: terminal.Message, Text: "Look at it", Checked: []terminal.File{{Path: file.Name(), Size: 1, Open: file}}})
		})
		checkEqual(t, "shown", n.shown(), "Look at it[a.png]")
		checkEqual(t, "calls", n.calls, "[send silently Look send Look at it remove m1]")
	})
}

func TestALateEditDoesNotUndoTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		n.hold = func(call string) {
			if strings.HasPrefix(call, "edit m1 It is n") {
				time.Sleep(time.Minute)
			}
		}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(10 * time.Second)
			emit(partial("It is n"))
			time.Sleep(10 * time.Second)
			emit(message("It is now."))
			synctest.Wait()
			checkEqual(t, "sent at once", n.called("send It"), "[send It is now.]")
		})
		checkEqual(t, "other calls", n.calls[2:], "[remove m1 edit m1 It is n]")
		checkEqual(t, "shown", n.shown(), "It is now.")
	})
}

func TestWhatIsShownIsRemovedOnlyWhenItsReplacementWasSent(t *testing.T) {
	for name, refusal := range map[string]channels.SendError{
		"edits are refused for good": {Err: errors.New("no"), Permanent: true},
		"edits are refused for long": {Err: errors.New("no"), After: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &chatNetwork{fault: func(call string) error {
					if strings.HasPrefix(call, "replace") {
						return &refusal
					}
					return nil
				}}
				runStreamed(t, n, func(emit func(terminal.Frame)) {
					emit(partial("It"))
					time.Sleep(3 * time.Second)
					emit(message("It is."))
				})
				checkEqual(t, "calls", n.calls, "[send silently It replace m1 It is. send silently It is. remove m1]")
			})
		})
	}
}

func TestSurplusPartsAreRemovedAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		n.hold = func(call string) {
			if strings.HasPrefix(call, "replace") {
				time.Sleep(900 * time.Millisecond)
			}
		}
		runStreamed(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It is a very long answer."))
			time.Sleep(4 * time.Second)
			emit(message("No."))
		})
		checkEqual(t, "last calls", n.calls[2:], "[replace m1 No. remove m2]")
	})
}

func TestAStreamedAnswerHasNoStopButtonTwoSecondsAfterItsTurn(t *testing.T) {
	busy := &channels.SendError{Err: channels.ErrBusy, After: time.Minute}
	for name, c := range map[string]struct {
		hangs, waits string // the calls that hang, and those that have to wait
		lasts        time.Duration
		want         string
	}{
		"nothing can be sent":     {waits: "replace send", lasts: time.Minute, want: "It is.|✓ done, 5 s"},
		"its last call hangs":     {hangs: "replace", lasts: 15 * time.Second, want: "It is.|✓ done, 5 s"},
		"an edit hangs":           {hangs: "edit", lasts: 15 * time.Second, want: "It is."},
		"an edit hangs for long":  {hangs: "edit", waits: "replace send", lasts: time.Minute, want: "It is."},
		"its delivery has failed": {waits: "for good", want: "It is.|✓ done, 5 s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, until := &chatNetwork{}, atomic.Pointer[time.Time]{}
				until.Store(new(time.Now().Add(time.Hour)))
				affects := func(calls, call string) bool {
					first, _, _ := strings.Cut(call, " ")
					return strings.Contains(calls, first) && time.Now().Before(*until.Load())
				}
				n.hold = func(call string) {
					if affects(c.hangs, call) {
						time.Sleep(time.Until(*until.Load()))
					}
				}
				n.fault = func(call string) error {
					switch {
					case c.waits == "for good" && strings.HasSuffix(call, " It is.") && !strings.HasPrefix(call, "edit"):
						return refusedForGood
					case affects(c.waits, call) && call != "send silently It":
						return busy
					}
					return nil
				}
				runStreamed(t, n, func(emit func(terminal.Frame)) {
					emit(partial("It"))
					time.Sleep(3 * time.Second)
					emit(partial("It is"))
					time.Sleep(2 * time.Second)
					until.Store(new(time.Now().Add(c.lasts)))
					checkEqual(t, "stoppable", n.stoppable() != "", true)
					emit(message("It is."))
					time.AfterFunc(2*time.Second, func() { checkEqual(t, "stoppable", n.stoppable(), "") })
				})
				checkEqual(t, "shown", n.shown(), c.want)
			})
		})
	}
}
