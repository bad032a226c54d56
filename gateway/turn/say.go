package turn

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/shown"
	"nanobot/terminal"
)

// emit takes what the agent says. It works after the turn was told to stop, since what was printed
// is still delivered, but not when the gateway shuts down: then the whole turn is done again or
// reported.
func (t *Turn) emit(listening, running context.Context, f terminal.Frame) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.Kind != terminal.Partial && !t.redrawn(f) { // which the message says again
		t.seen(f)
		t.saidBytes.Add(int64(len(f.Text)))
		t.saidMedia.Add(int64(len(f.Checked)))
	}
	switch {
	case listening.Err() != nil:
		return context.Cause(listening)
	case f.Kind == terminal.Partial:
		t.live.show(f.Text)
		return nil
	case f.Kind == terminal.Progress && t.set.Progress == HideProgress:
		return nil
	case f.Kind == terminal.Progress && (t.transient.show(boardOf(f)) || f.Board):
		return nil
	}
	m := outbox.Reply(t.inbound, Message(f))
	m.Sequence = t.number(f)
	m.CopyContext = func(size int64) context.Context { return t.copying(listening, running, size) }
	m.Copied = func(size int64) { t.copied(running, size) }
	if f.Kind == terminal.Message {
		return t.complete(listening, m)
	}
	return t.post(listening, m)
}

// number returns the sequence number of a message. Those of tools do not count among the agent's:
// whether a tool or the agent is heard first may differ from attempt to attempt.
func (t *Turn) number(f terminal.Frame) int {
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

// boardOf is a progress frame as the transient message shows it.
func boardOf(f terminal.Frame) board {
	return board{text: f.Text, screen: shown.Screen(f.Screen), buttons: shown.Buttons(f.Buttons)}
}

// redrawn reports whether a frame shows the screen anew and says nothing else that is new. A
// program may draw its screen all the time; the trace is for what the agent says.
func (t *Turn) redrawn(f terminal.Frame) bool {
	if f.Kind != terminal.Progress || f.Screen == nil {
		return false
	}
	again := f.Text == t.caption
	t.caption = f.Text
	return again
}

// complete posts a message of which the beginning may be shown already.
func (t *Turn) complete(listening context.Context, m *outbox.Message) error {
	places, rest := t.live.finish()
	m.Replace = places
	err := t.post(listening, m)
	if err == nil {
		rest = append(rest, m.Unused()...)
		t.transient.bury()
	}
	for _, id := range rest { // what is left of the others is removed when the turn ends
		t.stage.o.Outbox.Remove(t.transientOf(id))
	}
	return err
}

// logged takes what the agent or its protocol says to the log.
func (t *Turn) logged(f terminal.Frame) {
	if f.Audit {
		t.auditDecision(f.Text)
	}
	if t.tracer != nil {
		t.seen(f)
	}
}

// seen keeps a frame for those who watch.
func (t *Turn) seen(f terminal.Frame) {
	t.tracer.add(f)
	t.stage.o.Events.Tell(events.Event{What: events.Said, Chat: t.inbound.In.Chat, Inbound: t.inbound.ID})
}

// lateBytes is how much of a turn's files is copied after it was told to end: enough for the
// pictures that were just printed, and not so much that anybody notices.
const lateBytes = 64 << 20

// copying returns the context of a copy: a small file is copied to its end, a large one only while
// the turn runs. Like copied, which counts the copies, it is called with t.mu.
func (t *Turn) copying(listening, running context.Context, size int64) context.Context {
	if size > t.late {
		return running
	}
	return listening
}

func (t *Turn) copied(running context.Context, size int64) {
	if running.Err() != nil {
		t.late -= size
	}
}

// say posts a message of this turn without files.
func (t *Turn) say(listening context.Context, m channels.Message, sequence int) error {
	reply := outbox.Reply(t.inbound, m)
	reply.Sequence = sequence
	return t.post(listening, reply)
}

// post hands a message to the outbox. What the store cannot take now, for want of room perhaps, is
// tried until it can: the agent's words would be lost otherwise, and nobody could be told.
func (t *Turn) post(listening context.Context, m *outbox.Message) error {
	var refused error // for good
	err := retry.Until(listening, func() error {
		err := t.stage.o.Outbox.Post(listening, m)
		if err != nil && !errors.Is(err, outbox.ErrNotStored) {
			refused, err = err, nil
		}
		return err
	}, func(err error) { t.log.Error("answer not stored, will retry", zap.Error(err)) })
	if err != nil {
		return err
	}
	return refused
}
