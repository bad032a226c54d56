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
	// the last network call about its shown parts. A part that is edited later is removed, and one
	// that is sent later appears twice until it is removed.
	lastEditTimeout, lastSendTimeout = time.Second, 4 * time.Second
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
}

func newStreamedAnswer(d *Display) *streamedAnswer {
	a := &streamedAnswer{d: d, wake: make(chan struct{}, 1), kind: channels.Draft, ending: -1}
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
	shown, text = a.shown, a.fitting
	stays := len(shown)
	if a.ending >= 0 {
		stays = min(stays, a.ending)
	}
	if a.call != nil && !a.draft.used { // the edit could change what has replaced the message
		stays = min(stays, a.callPart)
	}
	shown, surplus = shown[:stays], shown[stays:]
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

// run updates what is shown until over ends, after which the turn's output is no longer accepted.
// sending is the context of network calls.
func (a *streamedAnswer) run(sending, over context.Context) {
	context.AfterFunc(over, func() { a.d.o.Tasks.Go(a.removeLeftovers) }) // also while a call hangs
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
				more = a.updateOne(sending, over)
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
func (a *streamedAnswer) updateOne(sending, over context.Context) bool {
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
	made, err := a.sendPart(sending, over, id, parts[i])
	a.d.pace.delay(max(2*time.Since(began), outbox.RetryAfter(err)))
	if err != nil && !a.d.o.Fenced(err) {
		a.d.o.Log.Debug("streamed answer not shown", zap.Error(err))
	}
	a.endCall(number, id, outbox.Shown{ID: made, Out: parts[i]}, err)
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
	case a.number != number && err == nil && edited == "": // the answer was completed without waiting for this call
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
func (a *streamedAnswer) sendPart(sending, over context.Context, id string, o channels.Outgoing) (string, error) {
	// The end of the turn does not cancel a send: a transient message with an unknown ID could
	// never be removed.
	o.Silent = true
	made, err := a.d.o.Outbox.Show(sending, outbox.Transient{
		Inbound: a.d.o.Inbound.ID, ID: id, Out: o, Repeat: a.kind == channels.Answer, Over: over,
	})
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
	if len(made) == 0 || a.d.left.Load() {
		return
	}
	if err := a.d.o.Outbox.RemoveLeft(sending, a.d.o.Inbound.In.Chat, a.d.o.Inbound.ID, made); err != nil {
		a.d.o.Log.Warn("transient messages not removed", zap.Error(err))
	}
}
