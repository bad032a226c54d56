package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/terminal"
)

// errNoMessages ends a turn that waits for messages when the gateway receives none any more.
var errNoMessages = errors.New("the gateway receives no messages any more")

// personWait is about a turn that waits for messages of a person.
type personWait struct {
	again chan struct{} // OfferQueue is to be called again
	cut   atomic.Bool   // it was ended by EndWaits

	mu    sync.Mutex
	since time.Time     // when the wait began; zero: the turn does not wait
	total time.Duration // of the waits that have ended
}

// Reader returns the runner of the turn if its agent's protocol reads messages and the turn was not
// told to end, else nil.
func (t *Turn) Reader() terminal.MessageReader {
	r, ok := t.set.Runner.(interface {
		terminal.MessageReader
		ReadsMessages() bool
	})
	if !ok || !r.ReadsMessages() || t.working.over() {
		return nil
	}
	return r
}

// readBefore reports whether an earlier turn has read the message of this one, and a crash has kept
// that from being recorded.
func (t *Turn) readBefore(ctx context.Context) (bool, error) {
	r := t.Reader()
	if r == nil {
		return false, nil
	}
	read, err := r.ReadMessage(ctx, PersonMessage(t.inbound.In))
	if err != nil {
		return false, fmt.Errorf("look for message: %w", err)
	}
	return read, nil
}

// PersonMessage is a message as it is offered to a protocol that reads messages.
func PersonMessage(in channels.Incoming) terminal.PersonMessage {
	return terminal.PersonMessage{Chat: in.Chat.String(), ID: in.ID, User: in.User.ID, Text: in.Text, Media: in.Media}
}

// OfferAgain has Options.OfferQueue called until it succeeds, as long as the turn waits for
// messages.
func (t *Turn) OfferAgain() {
	select {
	case t.person.again <- struct{}{}:
	default:
	}
}

// AwaitsSince is when the turn began to wait for messages; zero: it does not.
func (t *Turn) AwaitsSince() time.Time {
	t.person.mu.Lock()
	defer t.person.mu.Unlock()
	return t.person.since
}

// elapsed is how long the turn has worked, without the time that it waited for messages.
func (t *Turn) elapsed() time.Duration {
	t.person.mu.Lock()
	defer t.person.mu.Unlock()
	now := time.Now()
	if !t.person.since.IsZero() {
		now = t.person.since
	}
	return now.Sub(t.began) - t.person.total
}

// awaitPerson has the turn wait for messages: another turn may have its slot meanwhile, and the
// queue of its chat is offered to its protocol. A turn that is cut off in the meantime runs again
// at the next start of the gateway, as one that had not begun.
func (t *Turn) awaitPerson(ctx context.Context) (resume func(context.Context) error) {
	t.recordProcess(terminal.RecordNotStarted())
	t.pid.Store(0)
	t.person.begin()
	t.transient.poke()
	t.slot.Release()
	waiting, end := context.WithCancel(ctx)
	var offers sync.WaitGroup
	offers.Go(func() { t.offerQueue(waiting) })
	t.stage.waits.add(t)
	return func(ctx context.Context) error {
		t.stage.waits.remove(t)
		end()
		offers.Wait()
		defer t.transient.poke()
		defer t.person.end()
		if !t.slot.Retake(ctx) {
			err := context.Cause(ctx)
			t.person.cut.Store(errors.Is(err, errNoMessages))
			return err
		}
		if t.working.over() { // then Run may have released the slot already, for the last time
			t.slot.Release()
			return context.Canceled
		}
		t.recordProcess(terminal.RecordStarting())
		return nil
	}
}

// requeue has the turn run again at the next start of the gateway, also after a restart of the
// machine, in which the record of its process is lost.
func (t *Turn) requeue(killed context.Context) {
	if err := t.stage.o.Store.Requeue(context.WithoutCancel(killed), t.inbound.ID, true); err != nil {
		t.log.Warn("turn that waits for a person not queued", zap.Error(err)) // it stays running on disk
	}
}

// offerQueue offers the queue of the chat to the protocol, and again after OfferAgain.
func (t *Turn) offerQueue(ctx context.Context) {
	for ctx.Err() == nil {
		_ = retry.Until(ctx, func() error { return t.stage.o.OfferQueue(ctx, t.inbound.In.Chat) }, func(err error) {
			if ctx.Err() == nil {
				t.log.Warn("queued messages not read, will retry", zap.Error(err))
			}
		})
		select {
		case <-t.person.again:
		case <-ctx.Done():
		}
	}
}

func (p *personWait) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
}

func (p *personWait) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total += time.Since(p.since)
	p.since = time.Time{}
}

// waits are the turns that wait for messages.
type waits struct {
	mu    sync.Mutex
	ended bool // no message comes any more
	turns map[*Turn]bool
}

// add notes a turn that waits. One for which no message can come is cut off.
func (w *waits) add(t *Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		t.kill(errNoMessages)
		return
	}
	if w.turns == nil {
		w.turns = map[*Turn]bool{}
	}
	w.turns[t] = true
}

func (w *waits) remove(t *Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.turns, t)
}

// EndWaits cuts off the turns that wait for messages, now and later: the gateway receives none any
// more. They go on at its next start. The questions of tools end, too.
func (s *Stage) EndWaits() {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	if !s.waits.ended {
		close(s.deaf)
	}
	s.waits.ended = true
	for t := range s.waits.turns {
		t.kill(errNoMessages)
	}
}
