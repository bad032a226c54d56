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
	// streamDelay is the time before the first part of an unfinished answer is shown. A short
	// answer is complete by then and is sent only once.
	streamDelay = 500 * time.Millisecond
	// lastCallTimeout is the longest time that a complete message waits for the last network call
	// about its shown parts. A transient message that is still being changed after that is not
	// reused.
	lastCallTimeout = 4 * time.Second
)

// streamedAnswer shows an answer while the agent writes it, in one transient message per part, each
// edited in place. The parts of the complete answer then replace the transient messages, and
// surplus ones are removed.
type streamedAnswer struct {
	t      *Turn
	editor channels.Editor // nil: the channel cannot edit, so nothing is shown
	kind   channels.Kind   // Answer where transient messages can become the answer, else Draft

	start func() // starts run; only the first call has an effect
	wake  chan struct{}

	mu       sync.Mutex
	text     string // the unfinished answer; "": nothing is shown
	shown    []streamedPart
	since    time.Time     // when the first part was sent
	number   int           // of the answer within the turn
	call     chan struct{} // closed at the end of the network call in progress; nil: there is none
	callPart int           // index of the part that the call is about
	broken   bool          // an error ended the streaming of this answer
	sentIDs  []string      // IDs of all transient messages of the turn
}

// streamedPart is a transient message and its content.
type streamedPart struct {
	id   string
	part channels.Outgoing
}

func newStreamedAnswer(t *Turn) *streamedAnswer {
	l := &streamedAnswer{t: t, wake: make(chan struct{}, 1), kind: channels.Draft}
	if t.settings.Progress != EditProgress {
		return l
	}
	l.editor, _ = t.ch.(channels.Editor)
	if _, ok := t.ch.(channels.Replacer); ok {
		l.kind = channels.Answer
	}
	return l
}

// show updates the text of the unfinished answer. It never waits.
func (a *streamedAnswer) show(text string) {
	if a.editor == nil {
		return
	}
	a.mu.Lock()
	a.text = text
	a.mu.Unlock()
	a.start()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// finish ends the streaming of an answer that is complete. It returns the transient messages that
// the answer's parts replace, in order, and those to remove.
func (a *streamedAnswer) finish() (places, rest []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text = ""
	if call := a.call; call != nil {
		a.mu.Unlock()
		timeout := time.NewTimer(lastCallTimeout)
		select {
		case <-call:
		case <-timeout.C:
		}
		timeout.Stop()
		a.mu.Lock()
	}
	// An edit notifies nobody. Late answers are therefore sent as new messages.
	stale := time.Since(a.since) > a.t.stage.o.NotifyAfter
	for i, b := range a.shown {
		switch {
		case a.call != nil && i == a.callPart: // endCall removes it
		case stale, a.call != nil && i > a.callPart:
			rest = append(rest, b.id)
		default:
			places = append(places, b.id)
		}
	}
	a.number++
	a.shown, a.broken = nil, false
	return places, rest
}

// run updates the transient messages until over ends, after which the turn's output is no longer
// accepted. sending is the context of network calls.
func (a *streamedAnswer) run(sending, over context.Context) {
	defer a.removeLeftovers(sending)
	for {
		select {
		case <-a.wake:
		case <-over.Done():
			return
		}
		a.mu.Lock()
		first := len(a.shown) == 0
		a.mu.Unlock()
		if first && !retry.Sleep(over, streamDelay) {
			return
		}
		for more := true; more; {
			if !a.t.pace.wait(over) {
				return
			}
			more = a.updateOne(sending)
		}
	}
}

// updateOne makes one network call, if a part has changed. It reports whether it did.
func (a *streamedAnswer) updateOne(sending context.Context) bool {
	a.mu.Lock()
	text, number := a.text, a.number
	a.mu.Unlock()
	if text == "" {
		return false
	}
	in := a.t.inbound.In
	parts, err := a.t.ch.Plan(channels.Message{Chat: in.Chat, Kind: a.kind, Text: text, ReplyTo: in.ID})
	if err != nil || slices.ContainsFunc(parts, func(o channels.Outgoing) bool { return len(o.Media) > 0 }) {
		return false // the answer has become too long for transient messages
	}
	id, i, ok := a.beginCall(number, parts)
	if !ok {
		return false
	}
	if id == "" && !a.t.stage.o.Outbox.Empty(sending, in.Chat) { // earlier messages are sent first
		a.endCall(number, i, streamedPart{}, errNotYet)
		return true
	}
	began := time.Now()
	made, err := a.sendPart(sending, id, parts[i])
	a.t.pace.delay(max(2*time.Since(began), outbox.RetryAfter(err)))
	if err != nil {
		a.t.log.Debug("streamed answer not shown", zap.Error(err))
	}
	a.endCall(number, i, streamedPart{made, parts[i]}, err)
	return true
}

// errNotYet says that earlier messages of the chat are still waiting to be sent.
var errNotYet = errors.New("earlier messages are still waiting to be sent")

// beginCall finds the first part that differs from its transient message, and records that a call
// about it is in progress.
func (a *streamedAnswer) beginCall(number int, parts []channels.Outgoing) (id string, at int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.number != number || a.text == "" || a.broken {
		return "", 0, false
	}
	for i, p := range parts {
		if i < len(a.shown) && a.shown[i].part.Text == p.Text && bytes.Equal(a.shown[i].part.Form, p.Form) {
			continue
		}
		if i < len(a.shown) {
			id = a.shown[i].id
		}
		a.call, a.callPart = make(chan struct{}), i
		return id, i, true
	}
	return "", 0, false
}

// endCall records the result of a call.
func (a *streamedAnswer) endCall(number, at int, b streamedPart, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.call)
	a.call = nil
	if a.number != number { // the answer was completed without waiting for this call
		if b.id != "" {
			a.t.stage.o.Outbox.Remove(a.t.transientRecord(b.id))
		}
		return
	}
	var se *channels.SendError
	if errors.As(err, &se) && (se.Permanent || se.Unknown && at == len(a.shown)) {
		a.broken = true // a further transient message would appear twice
	}
	switch {
	case err != nil:
	case at < len(a.shown):
		a.shown[at] = b
	default:
		if at == 0 {
			a.since = time.Now()
		}
		a.shown = append(a.shown, b)
		a.t.board.markAbove()
	}
}

// sendPart sends or edits a transient message and returns its ID.
func (a *streamedAnswer) sendPart(sending context.Context, id string, o channels.Outgoing) (string, error) {
	// The end of the turn does not cancel the call: a transient message with an unknown ID could
	// never be removed.
	made, err := a.t.stage.o.Outbox.Show(sending, outbox.Transient{Inbound: a.t.inbound.ID, ID: id, Out: o, Repeat: a.kind == channels.Answer})
	if err == nil && id == "" {
		a.mu.Lock()
		a.sentIDs = append(a.sentIDs, made)
		a.mu.Unlock()
	}
	return made, err
}

// removeLeftovers removes the turn's transient messages that were not replaced.
func (a *streamedAnswer) removeLeftovers(sending context.Context) {
	a.mu.Lock()
	a.text, a.number = "", a.number+1
	made := a.sentIDs
	a.mu.Unlock()
	if len(made) == 0 {
		return
	}
	if err := a.t.stage.o.Outbox.RemoveLeft(sending, a.t.inbound.ID, made); err != nil {
		a.t.log.Warn("transient messages not removed", zap.Error(err))
	}
}
