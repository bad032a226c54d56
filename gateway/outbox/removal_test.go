package outbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// wall is a network that shows messages, by ID from m1. A text with | has several parts.
type wall struct {
	channels.Channel
	hold func(ctx context.Context, call string) error // called before a call is carried out; nil: it succeeds

	mu       sync.Mutex
	messages []channels.Outgoing // without a chat: removed
}

func (*wall) Plan(m channels.Message) (parts []channels.Outgoing, _ error) {
	for text := range strings.SplitSeq(m.Text, "|") {
		parts = append(parts, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: text, Notification: m.Notification})
	}
	parts[len(parts)-1].Buttons = m.Buttons
	return parts, nil
}

func (w *wall) carryOut(ctx context.Context, do func(), format string, args ...any) error {
	if w.hold != nil {
		if err := w.hold(ctx, fmt.Sprintf(format, args...)); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	return nil
}

func (w *wall) Send(ctx context.Context, o channels.Outgoing) (r channels.Receipt, err error) {
	err = w.carryOut(ctx, func() {
		if o.Repeat {
			o.Text = "↻" + o.Text
		}
		w.messages = append(w.messages, o)
		r.ID = fmt.Sprint("m", len(w.messages))
	}, "send %s", o.Text)
	return r, err
}

func (w *wall) at(id string) *channels.Outgoing {
	var i int
	_, _ = fmt.Sscanf(id, "m%d", &i)
	return &w.messages[i-1]
}

func (w *wall) Edit(ctx context.Context, id string, o channels.Outgoing) (gone error) {
	err := w.carryOut(ctx, func() {
		if w.at(id).Chat == (channels.Chat{}) {
			gone = &channels.SendError{Err: channels.ErrGone, Permanent: true}
			return
		}
		w.at(id).Text, w.at(id).Buttons = o.Text, o.Buttons
	}, "edit %s %s", id, o.Text)
	return cmp.Or(err, gone)
}

func (w *wall) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, w.Edit(ctx, id, o)
}

func (w *wall) Remove(ctx context.Context, _ channels.Chat, id string) error {
	return w.carryOut(ctx, func() { *w.at(id) = channels.Outgoing{} }, "remove %s", id)
}

// shown returns the texts in the chat; ■ marks a Stop button.
func (w *wall) shown() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, m := range w.messages {
		if len(m.Buttons) > 0 && m.Buttons[0] == stopButton {
			m.Text += "■"
		}
		if m.Chat != (channels.Chat{}) {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, "|")
}

var stopButton = channels.Button{Label: "Stop", Data: "stop:1", Role: channels.Stops}

// show shows the beginning of an answer, whose last part has the Stop button.
func (w *wall) show(t *testing.T, box *outbox.Outbox, texts ...string) (shown []outbox.Shown, ids []string) {
	t.Helper()
	for i, text := range texts {
		out := channels.Outgoing{Chat: ann, Kind: channels.Answer, Text: text}
		if i == len(texts)-1 {
			out.Buttons = []channels.Button{stopButton}
		}
		id := musttest.Get(box.Show(t.Context(), outbox.Transient{Inbound: 1, Out: out}))(t)
		shown, ids = append(shown, outbox.Shown{ID: id, Out: out}), append(ids, id)
	}
	return shown, ids
}

// on returns a hold for calls that begin with one of some words.
func on(calls string, do func(ctx context.Context) error) func(context.Context, string) error {
	return func(ctx context.Context, call string) error {
		for c := range strings.SplitSeq(calls, ",") {
			if strings.HasPrefix(call, c) {
				return do(ctx)
			}
		}
		return nil
	}
}

func answerIn(shown []outbox.Shown, text string) *outbox.Message {
	return &outbox.Message{
		Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: text}, Inbound: 1, Sequence: 1, Replace: shown,
	}
}

func TestAPartThatIsShownCompletelyStaysWhileItsDeliveryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wall{}
		box := newChannelOutbox(openStore(t), w)
		stop := runOutbox(t, box)
		shown, ids := w.show(t, box, "one", "tw")
		w.hold = on("send earlier", func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		postText(t, box, ann, "earlier")
		musttest.Do(t, box.Post(t.Context(), answerIn(shown, "one|two")))
		musttest.Do(t, box.RemoveLeft(t.Context(), ann, 1, ids))
		time.Sleep(2 * time.Second)
		wanttest.Equal(t, "shown after two seconds", w.shown(), "one")
		time.Sleep(time.Minute)
		wanttest.Equal(t, "shown", w.shown(), "one|earlier|two")
		stop()
	})
}

// mortal is a store that can be cut off, as by a crash of the gateway.
type mortal struct {
	*sqlite.Store
	dead         atomic.Bool
	diesAtRecord bool // after the next record of a transient message
}

var errDead = errors.New("the gateway has died")

func (s *mortal) Settle(ctx context.Context, id int64, end store.Settlement) (bool, error) {
	if s.dead.Load() {
		return false, errDead
	}
	return s.Store.Settle(ctx, id, end)
}

func (s *mortal) AddTransient(ctx context.Context, transient store.Transient) error {
	if s.dead.Load() {
		return errDead
	}
	if s.diesAtRecord {
		defer s.dead.Store(true)
	}
	return s.Store.AddTransient(ctx, transient)
}

func (s *mortal) Remember(ctx context.Context, chat channels.Chat, key, value string) error {
	if s.dead.Load() {
		return errDead
	}
	return s.Store.Remember(ctx, chat, key, value)
}

func (s *mortal) DropTransient(ctx context.Context, transient store.Transient) error {
	if s.dead.Load() {
		return errDead
	}
	return s.Store.DropTransient(ctx, transient)
}

// The gateway dies after a delivery was cancelled because the message that it was to replace is
// being removed.
func TestACrashBetweenARemovalAndTheNewMessageLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		hangs string // the calls that hang when the gateway dies
		dies  string // the call before whose result the gateway dies; "": it is shut down
		want  string
	}{
		"the removal hangs":        {hangs: "edit,remove", want: "the answer"},
		"the result is not stored": {hangs: "edit,remove", dies: "send", want: "the answer|↻the answer"},
		"the message is not sent":  {hangs: "edit,send", dies: "-", want: "↻the answer"},
		"all calls hang":           {hangs: "edit,send,remove", dies: "-", want: "↻the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				sqlitetest.Prepare(t, dir)
				s := &mortal{Store: musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)}
				w := &wall{}
				box := newChannelOutbox(s, w)
				stop := runOutbox(t, box)
				shown, ids := w.show(t, box, "the ans")
				w.hold = func(ctx context.Context, call string) error {
					if first, _, _ := strings.Cut(call, " "); first == c.dies {
						s.dead.Store(true)
					}
					return on(c.hangs, hang)(ctx, call)
				}
				musttest.Do(t, box.Post(t.Context(), answerIn(shown, "the answer")))
				musttest.Do(t, box.RemoveLeft(t.Context(), ann, 1, ids))
				time.Sleep(5 * time.Second)
				s.dead.Store(c.dies != "")
				stop()
				musttest.Do(t, s.Close())

				w.hold = nil
				again := musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)
				box = newChannelOutbox(again, w)
				stop = runOutbox(t, box)
				musttest.Do(t, box.Recover(t.Context(), musttest.Get(again.Adopt(t.Context()))(t)))
				box.Wake(ann)
				time.Sleep(time.Minute)
				stop()
				wanttest.Equal(t, "shown", w.shown(), c.want)
				if left := musttest.Get(again.Transients(t.Context()))(t); len(left) > 0 {
					t.Errorf("recorded are %+v", left)
				}
				musttest.Do(t, again.Close())
			})
		})
	}
}

// The gateway died while the live screen of a turn was being removed, before the last message of
// the turn was tried.
func TestACrashDuringTheRemovalOfALiveScreenLosesNoLastScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		sqlitetest.Prepare(t, dir)
		s := &mortal{Store: musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)}
		w := &wall{}
		box := newChannelOutbox(s, w)
		stop := runOutbox(t, box)
		musttest.Get(box.Show(t.Context(), liveScreen()))(t)
		w.hold = on("send earlier,remove", hang)
		postText(t, box, ann, "earlier")
		last := answerIn(nil, "the last")
		last.Live, last.Buttons = true, []channels.Button{{Label: "Up", Data: "up"}}
		musttest.Do(t, box.Post(t.Context(), last))
		s.diesAtRecord = true
		box.EndScreen(t.Context(), ann, 1, time.Now())
		time.Sleep(5 * time.Second)
		wanttest.Equal(t, "dead", s.dead.Load(), true)
		stop()
		musttest.Do(t, s.Close())

		w.hold = on("send earlier", func(context.Context) error { return &channels.SendError{Err: errDead, Permanent: true} })
		again := musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)
		box = newChannelOutbox(again, w)
		stop = runOutbox(t, box)
		musttest.Do(t, box.Recover(t.Context(), musttest.Get(again.Adopt(t.Context()))(t)))
		box.Wake(ann)
		time.Sleep(time.Minute)
		stop()
		wanttest.Equal(t, "shown", w.shown(), "the last")
		musttest.Do(t, again.Close())
	})
}

func TestAScreenThatWaitsForTheLastOneDoesNotOutliveItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wall{}
		box := newChannelOutbox(openStore(t), w)
		stop := runOutbox(t, box)
		musttest.Get(box.Show(t.Context(), liveScreen()))(t)
		w.hold = on("edit", hang)
		last := answerIn(nil, "the last")
		last.Live, last.Buttons = true, []channels.Button{{Label: "Up", Data: "up"}}
		musttest.Do(t, box.Post(t.Context(), last))
		synctest.Wait()
		over, end := context.WithCancel(t.Context())
		screen := liveScreen()
		screen.Over = over
		shown := make(chan struct{})
		go func() {
			defer close(shown)
			_, _ = box.Show(t.Context(), screen)
		}()
		time.AfterFunc(time.Minute, func() { stop() })
		end()
		began := time.Now()
		<-shown
		if took := time.Since(began); took > time.Second {
			t.Errorf("the screen has waited for %s after its turn", took)
		}
		time.Sleep(time.Hour)
	})
}

// slowMemory is a store that takes a while to store which message is the live screen.
type slowMemory struct{ *sqlite.Store }

func (s slowMemory) Remember(ctx context.Context, chat channels.Chat, key, value string) error {
	time.Sleep(100 * time.Millisecond)
	return s.Store.Remember(ctx, chat, key, value)
}

func TestALastScreenThatIsConfirmedWhenItsTurnsScreenIsRemovedIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wall{}
		box := newChannelOutbox(slowMemory{openStore(t)}, w)
		stop := runOutbox(t, box)
		musttest.Get(box.Show(t.Context(), liveScreen()))(t)
		w.hold = on("edit", func(context.Context) error { time.Sleep(950 * time.Millisecond); return nil })
		last := answerIn(nil, "the last")
		last.Live, last.Buttons = true, []channels.Button{{Label: "Up", Data: "up"}}
		musttest.Do(t, box.Post(t.Context(), last))
		box.EndScreen(t.Context(), ann, 1, time.Now()) // removes the screen after 1 s
		time.Sleep(time.Minute)
		wanttest.Equal(t, "shown", w.shown(), "the last")
		stop()
	})
}
