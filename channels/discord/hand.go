package discord

import (
	"context"
	"slices"
	"time"
)

// receivesAtOnce is how many messages are being received at the same time. It is well above what
// one commit of the store takes in while it waits for the disk.
const receivesAtOnce = 128

// outcome is what became of a message that was handed on.
type outcome struct {
	line *line
	mark flake // the mark that was handed on with it
	err  error
}

// deliver hands on the first message of each chat that is complete. A chat of which something is
// not taken waits; others go on.
func (in *intake) deliver(ctx context.Context) {
	now := time.Now()
	for id, l := range in.lines {
		if now.Before(l.retry) {
			continue
		}
		l.retry = time.Time{}
		switch {
		case l.busy || len(in.handing) == receivesAtOnce:
		case len(l.queue) > 0:
			if e := l.queue[0]; e.isReady() && in.m.saved >= e.listed && !in.handing[e.in.Chat.ID] {
				in.hand(ctx, l)
			}
		case len(l.held) == 0 && l.past == nil:
			delete(in.lines, id)
		}
	}
}

// hand receives the first message of a chat in a goroutine of its own. With it goes the mark that
// holds once it is stored, whatever becomes of the messages of other chats meanwhile. If one that
// was handed on later is stored earlier, the cursor goes back a little, which does no harm: what
// was received since is found again and known by its ID.
func (in *intake) hand(ctx context.Context, l *line) {
	e := l.queue[0]
	mark := in.mark(e)
	e.in.Cursor = in.m.cursor(mark)
	l.busy = true
	in.handing[e.in.Chat.ID] = true
	message := e.in
	in.side.Go(func() error {
		err := in.receive(ctx, message)
		in.handed <- outcome{l, mark, err} // never full: there is room for all that are handed on
		return nil
	})
}

// conclude takes note of what became of a message that was handed on.
func (in *intake) conclude(ctx context.Context, o outcome) {
	l := o.line
	e := l.queue[0]
	l.busy = false
	delete(in.handing, e.in.Chat.ID)
	if o.err != nil {
		in.postpone(ctx, l, o.err)
		return
	}
	l.queue = slices.Delete(l.queue, 0, 1)
	in.m.mark, in.kept = max(in.m.mark, o.mark), max(in.kept, o.mark)
	if e.use != nil {
		in.side.Go(func() error { in.c.settle(ctx, e.use); return nil })
	}
	l.failed = false
	if !in.failing() {
		in.disk.Reset()
	}
}

// postpone has a chat wait before its first message is handed on again. Chats whose messages fail
// while others wait for the same reason wait no longer than those.
func (in *intake) postpone(ctx context.Context, l *line, err error) {
	if ctx.Err() != nil {
		return
	}
	if now := time.Now(); !now.Before(in.again) {
		in.again = now.Add(in.disk.Next(err))
	}
	l.failed, l.retry = true, in.again
}

// failing tells whether there is a chat whose first message was not received yet.
func (in *intake) failing() bool {
	for _, l := range in.lines {
		if l.failed {
			return true
		}
	}
	return false
}

// finish waits for the messages that are being received when Run ends.
func (in *intake) finish(ctx context.Context) {
	for len(in.handing) > 0 {
		in.conclude(ctx, <-in.handed)
	}
}

func (e *entry) isReady() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}
