package display

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
)

const (
	// draftInterval is how often an unchanged draft is shown again. Networks show it for some 30
	// seconds.
	draftInterval = 20 * time.Second
	// draftLength is about how many bytes of a long text a draft shows, from the end.
	draftLength = 8 << 10
)

// draft is the state of an unfinished answer that is shown as a draft. It is guarded by the mutex
// of its streamedAnswer.
type draft struct {
	decided bool // used is set
	used    bool // the answer is shown as a draft
	shown   channels.Outgoing
	shownAt time.Time // zero: nothing is shown
	cancel  context.CancelFunc
}

// end ends the draft of an answer that is complete. A call in progress is cancelled, because it
// would show the draft below the answer.
func (d *draft) end() {
	if d.cancel != nil {
		d.cancel()
	}
	*d = draft{}
}

// usesDraft reports whether the answer is shown as a draft, which is decided once for each answer,
// unless the first draft shows that the server has none. After another failed draft the answer is
// not shown in another way, which would take many edits.
func (a *streamedAnswer) usesDraft() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.draft.decided && a.text != "" {
		a.draft.decided = true
		a.draft.used = a.drafter != nil && a.drafter.Drafts(a.d.o.Inbound.In.Chat)
	}
	return a.draft.used
}

// draftRenewal receives when an unchanged draft is to be shown again.
func (a *streamedAnswer) draftRenewal() <-chan time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draft.shownAt.IsZero() || a.broken {
		return nil
	}
	return time.After(time.Until(a.draft.shownAt.Add(draftInterval)))
}

// repeatDraft shows the draft again, if there is one.
func (a *streamedAnswer) repeatDraft() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.draft.shownAt.IsZero() {
		a.draft.shown = channels.Outgoing{}
		a.requestUpdate()
	}
}

// updateDraft makes one network call, if the draft has changed or is about to disappear. It reports
// whether it did.
func (a *streamedAnswer) updateDraft(sending context.Context) bool {
	ctx, cancel := context.WithTimeout(sending, outbox.CallTimeout)
	defer cancel()
	out, number, ok := a.beginDraft(cancel)
	if !ok {
		return false
	}
	in := a.d.o.Inbound
	err := errNotYet
	if a.d.o.Outbox.Empty(sending, in.In.Chat) { // earlier messages would remove the draft
		began := time.Now()
		err = a.d.o.Outbox.Call(in.In.Chat, func() error {
			return a.drafter.Draft(ctx, fmt.Sprintf("%d-%d", in.ID, number), out)
		})
		a.d.pace.delay(max(2*time.Since(began), outbox.RetryAfter(err)))
	}
	a.endDraft(number, out, err)
	return true
}

// beginDraft returns the draft to show, if it has to be shown, and records that a call is in
// progress.
func (a *streamedAnswer) beginDraft(cancel context.CancelFunc) (out channels.Outgoing, number int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.text == "" || a.broken {
		return out, a.number, false
	}
	in := a.d.o.Inbound.In
	parts, err := a.d.o.Channel.Plan(channels.Message{
		Chat: in.Chat, Kind: channels.Draft, Text: channels.Ending(a.text, a.format, draftLength),
		Format: a.format, ReplyTo: in.ID,
	})
	if err != nil || len(parts) == 0 || len(parts[len(parts)-1].Media) > 0 {
		return out, a.number, false
	}
	out = parts[len(parts)-1] // that the agent is writing
	out.Transient = true
	same := out.Text == a.draft.shown.Text && bytes.Equal(out.Form, a.draft.shown.Form)
	if same && time.Since(a.draft.shownAt) < draftInterval {
		return out, a.number, false
	}
	a.call, a.draft.cancel = make(chan struct{}), cancel
	return out, a.number, true
}

// endDraft records the result of a call.
func (a *streamedAnswer) endDraft(number int, out channels.Outgoing, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.call)
	a.call = nil
	if a.number != number {
		return
	}
	a.draft.cancel = nil
	var se *channels.SendError
	switch {
	case err == nil:
		a.draft.shown, a.draft.shownAt = out, time.Now()
		a.d.board.showsAnswer(draftAnswer)
	case !a.drafter.Drafts(out.Chat): // the server has no drafts
		a.draft = draft{decided: true}
	case errors.As(err, &se) && se.Permanent:
		a.giveUp()
		fallthrough
	default:
		a.d.o.Log.Debug("draft not shown", zap.Error(err))
	}
}
