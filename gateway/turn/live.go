package turn

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
)

const (
	// firstAfter is how long an agent writes before it is shown: a short answer is there by then,
	// and sent once.
	firstAfter = 500 * time.Millisecond
	// callWithin is how long a message that is complete waits for the last call about what was
	// shown of it. A transient message that is still being changed then is not used again.
	callWithin = 4 * time.Second
)

// live shows a message while the agent writes it: in as many transient messages as it will have
// parts, each edited in place as it grows. The parts of the message then take the transient
// messages' places; what is left of them is removed. Like progress they are no part of the answer
// until then.
type live struct {
	t      *Turn
	editor channels.Editor // nil: it is not shown
	kind   channels.Kind   // Answer where transient messages become the message; Draft where they go when it comes

	start func() // has run called, once
	wake  chan struct{}

	mu     sync.Mutex
	text   string // what is to be shown; "": nothing
	shown  []liveTransient
	since  time.Time     // when the first of them was sent
	number int           // of the message, within the turn
	call   chan struct{} // closed when the call that is under way has ended; nil when there is none
	at     int           // which transient message it is about
	broken bool          // the message is not shown any further
	made   []string      // all transient messages of the turn
}

// liveTransient is a transient message and what it shows.
type liveTransient struct {
	id   string
	part channels.Outgoing
}

func newLive(t *Turn) *live {
	l := &live{t: t, wake: make(chan struct{}, 1), kind: channels.Draft}
	if t.set.Progress != EditProgress {
		return l
	}
	l.editor, _ = t.ch.(channels.Editor)
	if _, ok := t.ch.(channels.Replacer); ok {
		l.kind = channels.Answer
	}
	return l
}

// show makes text what is shown of the message that is being written. It never waits.
func (l *live) show(text string) {
	if l.editor == nil {
		return
	}
	l.mu.Lock()
	l.text = text
	l.mu.Unlock()
	l.start()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// finish ends the showing of a message that is complete. It returns the transient messages whose
// places its parts take, in order, and those that are to be removed.
func (l *live) finish() (places, rest []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = ""
	if call := l.call; call != nil {
		l.mu.Unlock()
		timeout := time.NewTimer(callWithin)
		select {
		case <-call:
		case <-timeout.C:
		}
		timeout.Stop()
		l.mu.Lock()
	}
	// An edit does not notify anybody, so that who has looked away would miss an answer that took
	// its time.
	stale := time.Since(l.since) > l.t.stage.o.NotifyAfter
	for i, b := range l.shown {
		switch {
		case l.call != nil && i == l.at: // it is removed when its call has ended
		case stale, l.call != nil && i > l.at:
			rest = append(rest, b.id)
		default:
			places = append(places, b.id)
		}
	}
	l.number++
	l.shown, l.broken = nil, false
	return places, rest
}

// run keeps the transient messages up to date until over, when nothing that the turn says is taken
// any more. sending ends when networks must not be called any longer.
func (l *live) run(sending, over context.Context) {
	defer l.clear(sending)
	for {
		select {
		case <-l.wake:
		case <-over.Done():
			return
		}
		l.mu.Lock()
		first := len(l.shown) == 0
		l.mu.Unlock()
		if first && !retry.Sleep(over, firstAfter) {
			return
		}
		for more := true; more; {
			if !l.t.pace.wait(over) {
				return
			}
			more = l.step(sending)
		}
	}
}

// step makes one call, if there is something to change. It reports whether it did.
func (l *live) step(sending context.Context) bool {
	l.mu.Lock()
	text, number := l.text, l.number
	l.mu.Unlock()
	if text == "" {
		return false
	}
	in := l.t.inbound.In
	parts, err := l.t.ch.Plan(channels.Message{Chat: in.Chat, Kind: l.kind, Text: text, ReplyTo: in.ID})
	if err != nil || slices.ContainsFunc(parts, func(o channels.Outgoing) bool { return len(o.Media) > 0 }) {
		return false // it has become too long for transient messages
	}
	id, i, ok := l.begin(number, parts)
	if !ok {
		return false
	}
	if id == "" && !l.t.stage.o.Outbox.Empty(sending, in.Chat) { // what was said before comes first
		l.end(number, i, liveTransient{}, errNotYet)
		return true
	}
	began := time.Now()
	made, err := l.put(sending, id, parts[i])
	l.t.pace.delay(max(2*time.Since(began), outbox.RetryAfter(err)))
	if err != nil {
		l.t.log.Debug("what is being written is not shown", zap.Error(err))
	}
	l.end(number, i, liveTransient{made, parts[i]}, err)
	return true
}

// errNotYet says that a transient message would come before what was said earlier.
var errNotYet = errors.New("something waits to be sent before it")

// begin finds the first part that is not shown as it is, and notes that a call about it is under
// way.
func (l *live) begin(number int, parts []channels.Outgoing) (id string, at int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.number != number || l.text == "" || l.broken {
		return "", 0, false
	}
	for i, p := range parts {
		if i < len(l.shown) && l.shown[i].part.Text == p.Text && bytes.Equal(l.shown[i].part.Form, p.Form) {
			continue
		}
		if i < len(l.shown) {
			id = l.shown[i].id
		}
		l.call, l.at = make(chan struct{}), i
		return id, i, true
	}
	return "", 0, false
}

// end notes what became of a call.
func (l *live) end(number, at int, b liveTransient, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.call)
	l.call = nil
	if l.number != number { // the message did not wait for it
		if b.id != "" {
			l.t.stage.o.Outbox.Remove(l.t.transientOf(b.id))
		}
		return
	}
	var se *channels.SendError
	if errors.As(err, &se) && (se.Permanent || se.Unknown && at == len(l.shown)) {
		l.broken = true // another transient message would be one too many
	}
	switch {
	case err != nil:
	case at < len(l.shown):
		l.shown[at] = b
	default:
		if at == 0 {
			l.since = time.Now()
		}
		l.shown = append(l.shown, b)
		l.t.transient.bury()
	}
}

// put edits a transient message, or makes one, and returns its id.
func (l *live) put(sending context.Context, id string, o channels.Outgoing) (string, error) {
	// It is not cut off by the end of the turn: a transient message whose id we do not know could
	// never be removed.
	made, err := l.t.stage.o.Outbox.Show(sending, outbox.Transient{Inbound: l.t.inbound.ID, ID: id, Out: o, Repeat: l.kind == channels.Answer})
	if err == nil && id == "" {
		l.mu.Lock()
		l.made = append(l.made, made)
		l.mu.Unlock()
	}
	return made, err
}

// clear removes the transient messages of the turn whose places nothing has taken.
func (l *live) clear(sending context.Context) {
	l.mu.Lock()
	l.text, l.number = "", l.number+1
	made := l.made
	l.mu.Unlock()
	if len(made) == 0 {
		return
	}
	if err := l.t.stage.o.Outbox.RemoveLeft(sending, l.t.inbound.ID, made); err != nil {
		l.t.log.Warn("transients not removed", zap.Error(err))
	}
}
