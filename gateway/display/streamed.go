package display

import (
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
	// lastEditTimeout and lastSendTimeout are the longest times that a complete message waits for
	// the last network call about its shown parts. An edit may end later, since its message is
	// edited once more then. A message that is sent later appears twice until it is removed.
	lastEditTimeout, lastSendTimeout = time.Second, 4 * time.Second
	// restoreTries bounds how often a message is restored that a late edit may have changed.
	restoreTries = 5
)

// streamedAnswer shows an answer while the agent writes it: as drafts where the channel has them,
// else in one transient message per part, each edited in place. The parts of the complete answer
// then replace the transient messages, and surplus ones are removed.
type streamedAnswer struct {
	d       *Display
	editor  channels.Editor  // nil: the channel cannot edit
	drafter channels.Drafter // nil: the channel has no drafts
	kind    channels.Kind    // Answer where transient messages can become the answer, else Draft
	draft   draft            // guarded by mu

	start func() // starts run; only the first call has an effect
	wake  chan struct{}

	mu       sync.Mutex
	text     string // the unfinished answer; "": nothing is shown
	format   channels.Format
	fitting  string // the newest text that fits into messages
	shown    []outbox.Shown
	ending   int           // index in shown of the message with the end of a text that is too long; -1: there is none
	number   int           // of the answer within the turn
	call     chan struct{} // closed at the end of the network call in progress; nil: there is none
	callPart int           // index of the part that the call is about
	broken   bool          // an error ended the streaming of this answer
	sentIDs  []string      // IDs of all transient messages of the turn
	// complete has the parts of the turn's complete answers, by the transient message that they
	// replace. lateEdits are the transient messages whose last edit ended after their answer was
	// complete.
	complete  map[string]channels.Outgoing
	lateEdits []string
}

func newStreamedAnswer(d *Display) *streamedAnswer {
	a := &streamedAnswer{
		d: d, wake: make(chan struct{}, 1), kind: channels.Draft,
		complete: map[string]channels.Outgoing{}, ending: -1,
	}
	if !d.o.Edits {
		return a
	}
	a.editor, _ = d.o.Channel.(channels.Editor)
	a.drafter, _ = d.o.Channel.(channels.Drafter)
	if _, ok := d.o.Channel.(channels.Replacer); ok {
		a.kind = channels.Answer
	}
	return a
}

// show updates the text of the unfinished answer. It never waits.
func (a *streamedAnswer) show(text string, format channels.Format) {
	if a.editor == nil && a.drafter == nil {
		return
	}
	a.mu.Lock()
	a.text, a.format = text, format
	if !a.broken {
		a.d.board.beginAnswer()
	}
	a.mu.Unlock()
	a.start()
	a.requestUpdate()
}

// requestUpdate wakes run.
func (a *streamedAnswer) requestUpdate() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// finish ends the streaming of an answer that is complete. It returns the transient messages that
// the answer's parts replace, in order, and the text that they show. surplus are to be removed.
func (a *streamedAnswer) finish() (shown, surplus []outbox.Shown, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text = ""
	if call := a.call; call != nil {
		timeout := lastEditTimeout
		if !a.draft.used && a.callPart == len(a.shown) {
			timeout = lastSendTimeout
		}
		a.mu.Unlock()
		waitFor(call, timeout)
		a.mu.Lock()
	}
	if a.call != nil && a.callPart < len(a.shown) {
		a.shown[a.callPart].Out = channels.Outgoing{} // not known
	}
	shown, text = a.shown, a.fitting
	if a.ending >= 0 && a.ending < len(shown) {
		shown, surplus = shown[:a.ending], shown[a.ending:]
	}
	a.number++
	a.shown, a.ending, a.fitting, a.broken = nil, -1, "", false
	a.d.board.endAnswer()
	a.draft.end()
	return shown, surplus, text
}

// waitFor waits until a channel is closed, or for the timeout.
func waitFor(done <-chan struct{}, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// recordComplete records the parts of a complete answer, after it was posted.
func (a *streamedAnswer) recordComplete(m *outbox.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range m.Replace {
		if part, ok := m.Replacing(s.ID); ok {
			a.complete[s.ID] = part
		}
	}
}

// run updates what is shown until over ends, after which the turn's output is no longer accepted.
// sending is the context of network calls.
func (a *streamedAnswer) run(sending, over context.Context) {
	defer a.removeLeftovers(sending)
	for {
		select {
		case <-a.wake:
		case <-a.draftRenewal():
		case <-over.Done():
			return
		}
		if a.isFirst() && !retry.Sleep(over, streamDelay) {
			return
		}
		for more := true; more; {
			if !a.d.pace.wait(over, nil) {
				return
			}
			if a.usesDraft() {
				more = a.updateDraft(sending)
			}
			if !a.usesDraft() {
				more = a.updateOne(sending)
			}
		}
	}
}

// isFirst reports whether nothing of the answer is shown yet.
func (a *streamedAnswer) isFirst() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.shown) == 0 && a.draft.shownAt.IsZero()
}

// updateOne makes one network call, if a part has changed. It reports whether it did.
func (a *streamedAnswer) updateOne(sending context.Context) bool {
	parts, number := a.planParts()
	if len(parts) == 0 {
		return false
	}
	id, i, ok := a.beginCall(number, parts)
	if !ok {
		return false
	}
	if id == "" && !a.d.o.Outbox.Empty(sending, a.d.o.Inbound.In.Chat) { // earlier messages are sent first
		a.endCall(number, id, outbox.Shown{}, errNotYet)
		return true
	}
	began := time.Now()
	made, err := a.sendPart(sending, id, parts[i])
	a.d.pace.delay(max(2*time.Since(began), outbox.RetryAfter(err)))
	if err != nil {
		a.d.o.Log.Debug("streamed answer not shown", zap.Error(err))
	}
	a.endCall(number, id, outbox.Shown{ID: made, Out: parts[i]}, err)
	a.restoreComplete(sending)
	return true
}

// planParts returns the messages that show the unfinished answer, and the number of the answer. Of
// one that is too long for messages they show the beginning, as far as it was shown before, and the
// end.
func (a *streamedAnswer) planParts() (parts []channels.Outgoing, number int) {
	a.mu.Lock()
	text, fitting, number, format := a.text, a.fitting, a.number, a.format
	a.mu.Unlock()
	if text == "" || a.editor == nil {
		return nil, number
	}
	stop := a.d.stopButton()
	ending := -1
	if parts = a.planText(text, format, stop); parts == nil {
		parts = a.planText(fitting, format)
		end := a.planText(outbox.Ending(text, format), format, stop)
		ending, text = len(parts), fitting
		parts = append(parts, end...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.number == number {
		a.fitting, a.ending = text, ending
	}
	return parts, number
}

// planText returns the messages that show a text; nil: it is too long for messages.
func (a *streamedAnswer) planText(text string, format channels.Format, buttons ...channels.Button) []channels.Outgoing {
	in := a.d.o.Inbound.In
	parts, err := a.d.o.Channel.Plan(channels.Message{
		Chat: in.Chat, Kind: a.kind, Text: text, Format: format,
		ReplyTo: in.ID, Buttons: buttons,
	})
	if err != nil || slices.ContainsFunc(parts, func(o channels.Outgoing) bool { return len(o.Media) > 0 }) {
		return nil
	}
	return parts
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
		if i < len(a.shown) && looksSame(&p, &a.shown[i].Out) {
			continue
		}
		if i < len(a.shown) {
			id = a.shown[i].ID
		}
		a.call, a.callPart = make(chan struct{}), i
		return id, i, true
	}
	return "", 0, false
}

// endCall records the result of a call that sent a transient message, or edited the one with this
// ID.
func (a *streamedAnswer) endCall(number int, edited string, s outbox.Shown, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.call)
	a.call = nil
	var se *channels.SendError
	known := errors.As(err, &se)
	switch {
	case a.number != number && edited != "": // the answer was completed without waiting for this call
		a.lateEdits = append(a.lateEdits, edited)
	case a.number != number && err == nil:
		a.d.o.Outbox.Remove(a.d.transientRecord(s.ID))
	case a.number != number:
	case known && (se.Permanent || se.Unknown && edited == ""):
		a.giveUp() // a further transient message would appear twice
	case err != nil:
	case edited != "":
		a.shown[a.callPart] = s
	default:
		a.shown = append(a.shown, s)
		a.d.board.addBelow(1)
		a.d.board.showsAnswer(growingAnswer)
	}
}

// giveUp ends the streaming of this answer. a.mu must be locked.
func (a *streamedAnswer) giveUp() {
	a.broken = true
	a.d.board.endAnswer()
}

// sendPart sends or edits a transient message and returns its ID.
func (a *streamedAnswer) sendPart(sending context.Context, id string, o channels.Outgoing) (string, error) {
	// The end of the turn does not cancel the call: a transient message with an unknown ID could
	// never be removed.
	o.Silent = true
	made, err := a.d.o.Outbox.Show(sending,
		outbox.Transient{Inbound: a.d.o.Inbound.ID, ID: id, Out: o, Repeat: a.kind == channels.Answer})
	if err == nil && id == "" {
		a.mu.Lock()
		a.sentIDs = append(a.sentIDs, made)
		a.mu.Unlock()
	}
	return made, err
}

// restoreComplete edits the messages of complete answers once more that a late edit may have
// changed back.
func (a *streamedAnswer) restoreComplete(sending context.Context) {
	a.mu.Lock()
	var ids []string
	a.lateEdits = slices.DeleteFunc(a.lateEdits, func(id string) bool {
		_, posted := a.complete[id] // the answer replaces the message after this otherwise
		if posted {
			ids = append(ids, id)
		}
		return posted
	})
	a.mu.Unlock()
	for _, id := range ids {
		a.restoreMessage(sending, id)
	}
}

func (a *streamedAnswer) restoreMessage(sending context.Context, id string) {
	a.mu.Lock()
	part := a.complete[id]
	a.mu.Unlock()
	for range restoreTries {
		_, err := a.d.o.Outbox.Show(sending, outbox.Transient{Inbound: a.d.o.Inbound.ID, ID: id, Out: part})
		var se *channels.SendError
		if err == nil || errors.As(err, &se) && se.Permanent ||
			!retry.Sleep(sending, max(editInterval, outbox.RetryAfter(err))) {
			return
		}
	}
	a.d.o.Log.Warn("message may show an unfinished answer", zap.String("message", id))
}

// removeLeftovers removes the turn's transient messages that were not replaced.
func (a *streamedAnswer) removeLeftovers(sending context.Context) {
	a.restoreComplete(sending)
	a.mu.Lock()
	a.text, a.number = "", a.number+1
	made := a.sentIDs
	a.mu.Unlock()
	if len(made) == 0 {
		return
	}
	if err := a.d.o.Outbox.RemoveLeft(sending, a.d.o.Inbound.ID, made); err != nil {
		a.d.o.Log.Warn("transient messages not removed", zap.Error(err))
	}
}
