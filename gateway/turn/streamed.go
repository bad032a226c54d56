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
	sentIDs  []string      // ids of all transient messages of the turn
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
func (l *streamedAnswer) show(text string) {
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

// finish ends the streaming of an answer that is complete. It returns the transient messages that
// the answer's parts replace, in order, and those to remove.
func (l *streamedAnswer) finish() (places, rest []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = ""
	if call := l.call; call != nil {
		l.mu.Unlock()
		timeout := time.NewTimer(lastCallTimeout)
		select {
		case <-call:
		case <-timeout.C:
		}
		timeout.Stop()
		l.mu.Lock()
	}
	// An edit notifies nobody. Late answers are therefore sent as new messages.
	stale := time.Since(l.since) > l.t.stage.o.NotifyAfter
	for i, b := range l.shown {
		switch {
		case l.call != nil && i == l.callPart: // endCall removes it
		case stale, l.call != nil && i > l.callPart:
			rest = append(rest, b.id)
		default:
			places = append(places, b.id)
		}
	}
	l.number++
	l.shown, l.broken = nil, false
	return places, rest
}

// run updates the transient messages until over ends, after which the turn's output is no longer
// accepted. sending is the context of network calls.
func (l *streamedAnswer) run(sending, over context.Context) {
	defer l.removeLeftovers(sending)
	for {
		select {
		case <-l.wake:
		case <-over.Done():
			return
		}
		l.mu.Lock()
		first := len(l.shown) == 0
		l.mu.Unlock()
		if first && !retry.Sleep(over, streamDelay) {
			return
		}
		for more := true; more; {
			if !l.t.pace.wait(over) {
				return
			}
			more = l.updateOne(sending)
		}
	}
}

// updateOne makes one network call, if a part has changed. It reports whether it did.
func (l *streamedAnswer) updateOne(sending context.Context) bool {
	l.mu.Lock()
	text, number := l.text, l.number
	l.mu.Unlock()
	if text == "" {
		return false
	}
	in := l.t.inbound.In
	parts, err := l.t.ch.Plan(channels.Message{Chat: in.Chat, Kind: l.kind, Text: text, ReplyTo: in.ID})
	if err != nil || slices.ContainsFunc(parts, func(o channels.Outgoing) bool { return len(o.Media) > 0 }) {
		return false // the answer has become too long for transient messages
	}
	id, i, ok := l.beginCall(number, parts)
	if !ok {
		return false
	}
	if id == "" && !l.t.stage.o.Outbox.Empty(sending, in.Chat) { // earlier messages are sent first
		l.endCall(number, i, streamedPart{}, errNotYet)
		return true
	}
	began := time.Now()
	made, err := l.sendPart(sending, id, parts[i])
	l.t.pace.delay(max(2*time.Since(began), outbox.RetryAfter(err)))
	if err != nil {
		l.t.log.Debug("streamed answer not shown", zap.Error(err))
	}
	l.endCall(number, i, streamedPart{made, parts[i]}, err)
	return true
}

// errNotYet says that earlier messages of the chat are still waiting to be sent.
var errNotYet = errors.New("earlier messages are still waiting to be sent")

// beginCall finds the first part that differs from its transient message, and records that a call
// about it is in progress.
func (l *streamedAnswer) beginCall(number int, parts []channels.Outgoing) (id string, at int, ok bool) {
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
		l.call, l.callPart = make(chan struct{}), i
		return id, i, true
	}
	return "", 0, false
}

// endCall records the result of a call.
func (l *streamedAnswer) endCall(number, at int, b streamedPart, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.call)
	l.call = nil
	if l.number != number { // the answer was completed without waiting for this call
		if b.id != "" {
			l.t.stage.o.Outbox.Remove(l.t.transientRecord(b.id))
		}
		return
	}
	var se *channels.SendError
	if errors.As(err, &se) && (se.Permanent || se.Unknown && at == len(l.shown)) {
		l.broken = true // a further transient message would appear twice
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
		l.t.board.markAbove()
	}
}

// sendPart sends or edits a transient message and returns its id.
func (l *streamedAnswer) sendPart(sending context.Context, id string, o channels.Outgoing) (string, error) {
	// The end of the turn does not cancel the call: a transient message with an unknown id could
	// never be removed.
	made, err := l.t.stage.o.Outbox.Show(sending, outbox.Transient{Inbound: l.t.inbound.ID, ID: id, Out: o, Repeat: l.kind == channels.Answer})
	if err == nil && id == "" {
		l.mu.Lock()
		l.sentIDs = append(l.sentIDs, made)
		l.mu.Unlock()
	}
	return made, err
}

// removeLeftovers removes the turn's transient messages that were not replaced.
func (l *streamedAnswer) removeLeftovers(sending context.Context) {
	l.mu.Lock()
	l.text, l.number = "", l.number+1
	made := l.sentIDs
	l.mu.Unlock()
	if len(made) == 0 {
		return
	}
	if err := l.t.stage.o.Outbox.RemoveLeft(sending, l.t.inbound.ID, made); err != nil {
		l.t.log.Warn("transient messages not removed", zap.Error(err))
	}
}
