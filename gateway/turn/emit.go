package turn

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// emit handles a frame of the agent. It still works after the turn was told to stop, since output
// printed before is delivered. During a shutdown it returns an error: the whole turn is retried or
// reported later.
func (t *Turn) emit(accepting, running context.Context, f terminal.Frame) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.Kind != terminal.Partial && !t.isRedraw(f) { // the complete message repeats a partial one
		t.traceFrame(f)
		t.outputBytes.Add(int64(len(f.Text)))
		t.outputMedia.Add(int64(len(f.Checked)))
	}
	switch {
	case accepting.Err() != nil:
		return context.Cause(accepting)
	case f.Kind == terminal.Partial:
		t.display.ShowUnfinished(f.Text, channels.Format(f.Format))
		return nil
	case f.Kind == terminal.Progress && t.settings.Progress == HideProgress:
		return nil
	case f.Kind == terminal.Progress && t.display.ShowProgress(boardContent(f)):
		return nil
	case f.Fold != nil && f.Fold.Required:
		return t.postFold(accepting, *f.Fold)
	case f.Kind == terminal.Progress && (f.Board || t.hidesBoard(accepting)):
		return nil
	}
	m := outbox.Reply(t.inbound, FrameMessage(f))
	if f.Code == terminal.StoppedCode && t.working.hasEnded() { // a person wanted it to end, so it has not failed
		m.Kind, m.Code = channels.Answer, ""
	}
	m.Notification = t.notificationOf(f)
	m.Sequence, m.MediaRequired = t.nextSequence(f), f.MediaRequired
	m.AddChoices(f.Choices)
	m.CopyContext = func(size int64) context.Context { return t.copyContext(accepting, running, size) }
	m.Copied = func(size int64) { t.countCopy(running, size) }
	if f.Kind == terminal.Message {
		return t.display.PostAnswer(m, func(m *outbox.Message) error { return t.post(accepting, m) })
	}
	return t.post(accepting, m)
}

// mentionAfter is how long a turn takes before its asker is mentioned: who waits for that long may
// have left the chat.
const mentionAfter = 20 * time.Second

// notificationOf says whom the message of a frame notifies. Progress notifies nobody.
func (t *Turn) notificationOf(f terminal.Frame) channels.Notification {
	if f.Silent || f.Kind == terminal.Progress {
		return channels.Notification{Silent: true}
	}
	return channels.Notification{Mention: t.elapsed() > mentionAfter}
}

// nextSequence returns the sequence number of a message. Messages of tools have numbers of their
// own, since the order of a tool's and the agent's messages may differ between attempts.
func (t *Turn) nextSequence(f terminal.Frame) int {
	switch {
	case f.Sequence > toolSequence:
		return f.Sequence
	case f.Sequence > 0:
		t.sequence = f.Sequence
	default:
		t.sequence++
	}
	return t.sequence
}

// boardContent converts a progress frame for the board.
func boardContent(f terminal.Frame) display.Content {
	return display.Content{
		Text: f.Text, Screen: display.Screen(f.Screen), Buttons: display.Buttons(f.Buttons), Step: f.Step, Fold: f.Fold, TakenOver: f.TakenOver,
	}
}

// postFold posts the fold of a turn without a board, and stores its details.
func (t *Turn) postFold(ctx context.Context, fold terminal.Fold) error {
	m, details := display.FoldMessage(t.words, t.inbound, fold)
	if err := t.stage.o.Store.SaveDetails(context.WithoutCancel(ctx), t.inbound.ID, details); err != nil {
		t.log.Warn("details of turn not stored", zap.Error(err))
	}
	return t.post(ctx, m)
}

// hidesBoard reports whether the people of the chat want no board and no progress.
func (t *Turn) hidesBoard(ctx context.Context) bool {
	verbose, err := t.stage.o.Store.Recall(ctx, t.inbound.In.Chat, store.VerboseMemory)
	if err != nil {
		t.log.Warn("cannot read whether the chat wants a board", zap.Error(err))
	}
	return verbose == store.NoBoard
}

// isRedraw reports whether a frame only redraws the screen. Redraws are not traced, since a program
// may redraw its screen all the time.
func (t *Turn) isRedraw(f terminal.Frame) bool {
	if f.Kind != terminal.Progress || f.Screen == nil {
		return false
	}
	again := f.Text == t.caption
	t.caption = f.Text
	return again
}

// handleLog handles a log frame of the agent or its protocol.
func (t *Turn) handleLog(f terminal.Frame) {
	if f.Audit {
		t.auditDecision(f.Text)
	}
	if t.tracer != nil {
		t.traceFrame(f)
	}
}

// traceFrame adds a frame to the trace and notifies observers.
func (t *Turn) traceFrame(f terminal.Frame) {
	t.tracer.add(f)
	t.stage.o.Events.Report(events.Event{Type: events.Output, Chat: t.inbound.In.Chat, Inbound: t.inbound.ID})
}

// lateCopyLimit bounds the bytes of files that are copied after the turn was told to end: enough
// for images that were just printed, and quick to copy.
const lateCopyLimit = 64 << 20

// copyContext returns the context of a file copy: a small file is copied completely, a large one
// only while the turn runs. copyContext and countCopy must be called with t.mu locked.
func (t *Turn) copyContext(accepting, running context.Context, size int64) context.Context {
	if size > t.lateCopyBytes {
		return running
	}
	return accepting
}

func (t *Turn) countCopy(running context.Context, size int64) {
	if running.Err() != nil {
		t.lateCopyBytes -= size
	}
}

// postMessage posts a message without files.
func (t *Turn) postMessage(accepting context.Context, m channels.Message, sequence int) error {
	reply := outbox.Reply(t.inbound, m)
	reply.Sequence = sequence
	return t.post(accepting, reply)
}

// post passes a message to the outbox. If the store cannot accept it now, for example on a full
// disk, post retries until it can, since the agent's output would be lost otherwise.
func (t *Turn) post(accepting context.Context, m *outbox.Message) error {
	var refused error // permanently
	err := retry.Until(accepting, func() error {
		err := t.stage.o.Outbox.Post(accepting, m)
		if err != nil && !errors.Is(err, outbox.ErrNotStored) {
			refused, err = err, nil
		}
		return err
	}, func(err error) { t.log.Error("answer not stored, will retry", zap.Error(err)) })
	if err == nil && refused == nil {
		t.recordNotification(m)
	}
	if err != nil {
		return err
	}
	return refused
}
