package turn

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// emit handles a frame of the agent. It still works after the turn was told to stop, since output
// printed before is delivered. During a shutdown it returns an error: the whole turn is retried or
// reported later.
func (out *output) emit(accepting, running context.Context, f terminal.Frame) error {
	out.mu.Lock()
	defer out.mu.Unlock()
	if f.Kind == terminal.Progress && out.heading != "" {
		f.Board, f.Text = true, strings.TrimSuffix(out.heading+"\n\n"+f.Text, "\n\n")
	}
	if f.Kind != terminal.Partial && !out.isRedraw(f) { // the complete message repeats a partial one
		out.traceFrame(f)
		out.outputBytes.Add(int64(len(f.Text)))
		out.outputMedia.Add(int64(len(f.Checked)))
	}
	switch {
	case accepting.Err() != nil:
		return context.Cause(accepting)
	case out.inbound.In.Quiet && !isSaid(f):
		return nil
	case f.Kind == terminal.Partial:
		out.display.ShowUnfinished(f.Text, channels.Format(f.Format))
		return nil
	case f.Kind == terminal.Progress && out.settings.Progress == HideProgress:
		return nil
	case f.Kind == terminal.Progress && out.display.ShowProgress(boardContent(f)):
		return nil
	case f.Fold != nil && f.Fold.Required:
		return out.postFold(accepting, *f.Fold)
	case f.Kind == terminal.Progress && (f.Board || out.hidesBoard(accepting)):
		return nil
	}
	m := outbox.Reply(out.inbound, FrameMessage(f))
	if f.Code == terminal.StoppedCode && out.working.hasEnded() { // a person wanted it to end, so it has not failed
		m.Kind, m.Code = channels.Answer, ""
	}
	if f.StillRunning { // after the turn, the button of its Stop ends what it has left
		m.Buttons = append(m.Buttons, channels.Button{
			Label: out.words.Text(words.ButtonEndIt), Data: press.Stop(out.inbound.ID),
		})
	}
	m.Notification = out.notificationOf(f)
	m.Sequence, m.MediaRequired = out.nextSequence(f), f.MediaRequired
	switch {
	case f.Heard != nil:
		m.Sequence, m.Once = outbox.HeardSequence, true
	case f.Speech:
		m.Sequence, m.Once = outbox.SpeechSequence, true
	}
	m.AddChoices(f.Choices)
	m.CopyContext = func(size int64) context.Context { return out.copyContext(accepting, running, size) }
	m.Copied = func(size int64) { out.countCopy(running, size) }
	if f.Kind == terminal.Message {
		return out.display.PostAnswer(m, func(m *outbox.Message) error { return out.post(accepting, m) })
	}
	return out.post(accepting, m)
}

// isSaid reports whether a frame is a message of the agent itself, in text or as speech. A quiet
// turn shows nothing else, except that a person has stopped it.
func isSaid(f terminal.Frame) bool {
	return f.Kind == terminal.Message && (!f.Own || f.Speech) || f.Code == terminal.StoppedCode
}

// setHeading sets the heading of all further progress.
func (out *output) setHeading(text string) {
	out.mu.Lock()
	defer out.mu.Unlock()
	out.heading = text
}

// mentionAfter is how long a turn takes before its asker is mentioned: who waits for that long may
// have left the chat.
const mentionAfter = 20 * time.Second

// notificationOf says whom the message of a frame notifies. Progress notifies nobody.
func (out *output) notificationOf(f terminal.Frame) channels.Notification {
	if f.Silent || f.Kind == terminal.Progress {
		return channels.Notification{Silent: true}
	}
	return channels.Notification{Mention: out.elapsed() > mentionAfter}
}

// nextSequence returns the sequence number of a message. Messages of tools have numbers of their
// own, since the order of a tool's and the agent's messages may differ between attempts.
func (out *output) nextSequence(f terminal.Frame) int {
	switch {
	case f.Sequence > toolSequence:
		return f.Sequence
	case f.Sequence > 0:
		out.sequence = f.Sequence
	default:
		out.sequence++
	}
	return out.sequence
}

// boardContent converts a progress frame for the board.
func boardContent(f terminal.Frame) display.Content {
	return display.Content{
		Text: f.Text, Screen: display.Screen(f.Screen), Buttons: display.Buttons(f.Buttons), Step: f.Step, Fold: f.Fold,
		TakenOver: f.TakenOver, Live: f.Live, Lasting: f.Board || f.Screen != nil,
	}
}

// postFold posts the fold of a turn without a board, and stores its details.
func (out *output) postFold(ctx context.Context, fold terminal.Fold) error {
	m, details := display.FoldMessage(out.words, out.inbound, fold)
	err := out.stage.o.Store.SaveDetails(context.WithoutCancel(ctx), out.inbound.ID, details)
	if err != nil && !out.isFenced(err) {
		out.log.Warn("details of turn not stored", zap.Error(err))
	}
	return out.post(ctx, m)
}

// hidesBoard reports whether the people of the chat want no board and no progress, or the turn is
// quiet.
func (out *output) hidesBoard(ctx context.Context) bool {
	if out.inbound.In.Quiet {
		return true
	}
	verbose, err := out.stage.o.Store.Recall(ctx, out.inbound.In.Chat, store.VerboseMemory)
	if err != nil {
		out.log.Warn("cannot read whether the chat wants a board", zap.Error(err))
	}
	return verbose == store.NoBoard
}

// isRedraw reports whether a frame only redraws the screen. Redraws are not traced, since a program
// may redraw its screen all the time.
func (out *output) isRedraw(f terminal.Frame) bool {
	if f.Kind != terminal.Progress || f.Screen == nil {
		return false
	}
	again := f.Text == out.caption
	out.caption = f.Text
	return again
}

// handleLog handles a log frame of the agent or its protocol.
func (out *output) handleLog(f terminal.Frame) {
	if f.Audit {
		out.auditDecision(f.Text)
	}
	if out.tracer != nil {
		out.traceFrame(f)
	}
}

// traceFrame adds a frame to the trace and notifies observers.
func (out *output) traceFrame(f terminal.Frame) {
	out.tracer.add(f)
	out.stage.o.Events.Report(events.Event{Type: events.Output, Chat: out.inbound.In.Chat, Inbound: out.inbound.ID})
}

// lateCopyLimit bounds the bytes of files that are copied after the turn was told to end: enough
// for images that were just printed, and quick to copy.
const lateCopyLimit = 64 << 20

// copyContext returns the context of a file copy: a small file is copied completely, a large one
// only while the turn runs. copyContext and countCopy must be called with out.mu locked.
func (out *output) copyContext(accepting, running context.Context, size int64) context.Context {
	if size > out.lateCopyBytes {
		return running
	}
	return accepting
}

func (out *output) countCopy(running context.Context, size int64) {
	if running.Err() != nil {
		out.lateCopyBytes -= size
	}
}

// postMessage posts a message without files.
func (out *output) postMessage(accepting context.Context, m channels.Message, sequence int) error {
	reply := outbox.Reply(out.inbound, m)
	reply.Sequence = sequence
	return out.post(accepting, reply)
}

// post passes a message to the outbox. If the store cannot accept it now, for example on a full
// disk, post retries until it can, since the agent's output would be lost otherwise.
func (out *output) post(accepting context.Context, m *outbox.Message) error {
	var refused error // permanently
	err := retry.Until(accepting, func() error {
		err := out.stage.o.Outbox.Post(accepting, m)
		if err != nil && !errors.Is(err, outbox.ErrNotStored) {
			refused, err = err, nil
		}
		return err
	}, func(err error) { out.log.Error("answer not stored, will retry", zap.Error(err)) })
	if err == nil && refused == nil {
		out.recordNotification(m)
	}
	if err != nil {
		return err
	}
	out.isFenced(refused)
	return refused
}
