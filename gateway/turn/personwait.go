package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// errIntakeClosed ends a turn that waits for messages when the gateway stops receiving them.
var errIntakeClosed = errors.New("the gateway no longer receives messages")

// personWait is the state of a turn that waits for messages of a person.
type personWait struct {
	offerAgain chan struct{} // asks offerQueue to offer the queue again

	mu    sync.Mutex
	since time.Time // when the wait began; zero: the turn does not wait
}

// waitClock measures for how long a turn waits for people, with messages or answers. Waits may
// overlap.
type waitClock struct {
	mu    sync.Mutex
	open  int           // waits that have not ended
	since time.Time     // when the first of them began
	total time.Duration // duration of the ended waits
}

func (c *waitClock) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open++; c.open == 1 {
		c.since = time.Now()
	}
}

func (c *waitClock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open--; c.open == 0 {
		c.total += time.Since(c.since)
	}
}

// measure returns for how long the turn has waited, and whether it waits now.
func (c *waitClock) measure() (waited time.Duration, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 {
		return c.total + time.Since(c.since), true
	}
	return c.total, false
}

// MessageReader returns the runner of the turn if its protocol reads messages and the turn was not
// told to end, else nil.
func (p *people) MessageReader() terminal.MessageReader {
	r, ok := p.settings.Runner.(interface {
		terminal.MessageReader
		ReadsMessages() bool
	})
	if !ok || !r.ReadsMessages() || p.working.hasEnded() {
		return nil
	}
	return r
}

// alreadyRead reports whether an earlier turn has read this message, and a crash prevented that
// from being recorded.
func (p *people) alreadyRead(ctx context.Context) (bool, error) {
	r := p.MessageReader()
	if r == nil {
		return false, nil
	}
	read, err := r.ReadMessage(ctx, PersonMessage(p.inbound.In))
	if err != nil {
		return false, fmt.Errorf("look for message: %w", err)
	}
	return read, nil
}

// PersonMessage converts a message for a protocol that reads messages.
func PersonMessage(in channels.Incoming) terminal.PersonMessage {
	return terminal.PersonMessage{Chat: in.Chat.String(), ID: in.ID, User: in.User.ID, Text: in.Text, Media: in.Media}
}

// OfferQueueAgain makes offerQueue call Options.OfferQueue again, with retries, while the turn
// waits for messages.
func (p *people) OfferQueueAgain() {
	select {
	case p.personWait.offerAgain <- struct{}{}:
	default:
	}
}

// WaitingSince returns when the turn began to wait for messages; zero: it does not wait.
func (p *people) WaitingSince() time.Time {
	p.personWait.mu.Lock()
	defer p.personWait.mu.Unlock()
	return p.personWait.since
}

// awaitsPerson reports whether the turn waits for a message or an answer of a person.
func (t *facts) awaitsPerson() bool {
	_, waits := t.clock.measure()
	return waits
}

// elapsed returns how long the turn has worked, without the time spent waiting for people.
func (t *facts) elapsed() time.Duration {
	waited, _ := t.clock.measure()
	return time.Since(t.started) - waited
}

// AwaitPerson begins a wait for messages: the turn releases its slot, and the queue of its chat is
// offered to its protocol. A turn that a shutdown cuts off during the wait runs again at the next
// start, as one that had not started.
func (c *chat) AwaitPerson(ctx context.Context) (resume func(context.Context) error) {
	back := c.StepAside(ctx)
	c.personWait.begin()
	c.clock.begin()
	c.display.Refresh()
	waiting, end := context.WithCancel(ctx)
	var offers sync.WaitGroup
	offers.Go(func() { c.offerQueue(waiting) })
	c.stage.personWaits.add(c.people)
	return func(ctx context.Context) error {
		c.stage.personWaits.remove(c.people)
		end()
		offers.Wait()
		defer c.display.Refresh()
		defer c.clock.end()
		defer c.personWait.end()
		return back(ctx)
	}
}

// StepAside releases the slot, and reacquires it when back is called.
func (c *chat) StepAside(context.Context) (back func(context.Context) error) {
	c.aside.Store(true)
	c.recordProcess(process.NewNotStartedRecord())
	c.pid.Store(0)
	c.slot.Release()
	return func(ctx context.Context) error {
		if !c.slot.Retake(ctx) {
			return context.Cause(ctx)
		}
		if c.working.hasEnded() { // Run may have released the slot for the last time already
			c.slot.Release()
			return context.Canceled
		}
		c.recordProcess(process.NewStartingRecord())
		c.aside.Store(false)
		return nil
	}
}

// requeueTurn makes the turn run again at the next start of the gateway. The process record alone
// does not ensure that: a restart of the machine loses it.
func (p *people) requeueTurn(untilKilled context.Context) {
	err := p.stage.o.Store.Requeue(context.WithoutCancel(untilKilled), p.inbound.ID, true)
	if err != nil && !p.isFenced(err) {
		p.log.Warn("cannot requeue a turn whose agent does not run", zap.Error(err)) // the turn stays running on disk
	}
}

// offerQueue offers the queue of the chat to the protocol, and again after OfferQueueAgain.
func (p *people) offerQueue(ctx context.Context) {
	for ctx.Err() == nil {
		_ = retry.Until(ctx, func() error { return p.stage.o.OfferQueue(ctx, p.inbound.In.Chat) }, func(err error) {
			if ctx.Err() == nil {
				p.log.Warn("cannot offer queued messages, will retry", zap.Error(err))
			}
		})
		select {
		case <-p.personWait.offerAgain:
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
	p.since = time.Time{}
}

// personWaits are the turns that wait for messages.
type personWaits struct {
	mu    sync.Mutex
	ended bool // no message can arrive any more
	turns map[*people]bool
}

// add registers a waiting turn. After the end of the intake, the turn is cut off.
func (w *personWaits) add(p *people) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		p.kill(errIntakeClosed)
		return
	}
	if w.turns == nil {
		w.turns = map[*people]bool{}
	}
	w.turns[p] = true
}

func (w *personWaits) remove(p *people) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.turns, p)
}

// EndPersonWaits cuts off the turns that wait for messages, now and later, because the gateway
// stops receiving them. The turns continue at the next start. Pending questions of tools end, too.
func (s *Stage) EndPersonWaits() {
	s.personWaits.mu.Lock()
	defer s.personWaits.mu.Unlock()
	if !s.personWaits.ended {
		close(s.intakeClosed)
	}
	s.personWaits.ended = true
	for p := range s.personWaits.turns {
		p.kill(errIntakeClosed)
	}
}
