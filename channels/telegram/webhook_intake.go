package telegram

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// What waits to be handed on is bounded; beyond it Telegram keeps the rest. By webhook it still
// delivers for other chats; a poll is stopped for all.
const shelfLimit, pollLimit = 250, 5000

// listen takes what Telegram delivers until ctx ends, and looks after the webhook. At the end the
// webhook stays, so that Telegram keeps for us what comes meanwhile.
func (in *intake) listen(ctx context.Context) error {
	c := in.c
	if c.hook == nil {
		return in.collect(ctx)
	}
	d := &desk{arrivals: make(chan arrival), closed: make(chan struct{})}
	c.desk.Store(d)
	defer close(d.closed)
	defer c.desk.Store(nil)
	var complete chan struct{} // closed when Telegram has nothing more for albums that a restart cut off
	work, ctx := errgroup.WithContext(ctx)
	if in.anyAwaits() {
		complete = make(chan struct{})
	}
	work.Go(func() error { return c.keepHook(ctx, complete) })
	work.Go(func() error { in.serve(ctx, d.arrivals, complete); return nil })
	return work.Wait()
}

// collect is listen for one that polls.
func (in *intake) collect(ctx context.Context) error {
	arrivals := make(chan arrival)
	p := &poller{c: in.c, arrivals: arrivals}
	var complete chan struct{}
	if in.anyAwaits() {
		complete = make(chan struct{})
		p.complete = complete
	}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return p.run(ctx) })
	work.Go(func() error { in.serve(ctx, arrivals, complete); return nil })
	return work.Wait()
}

// serve is listen's loop.
func (in *intake) serve(ctx context.Context, arrivals <-chan arrival, complete <-chan struct{}) {
	disk := in.c.newTrouble("message not received, will retry")
	timer := time.NewTimer(0)
	defer timer.Stop()
	var resume time.Time // not before this is anything tried again
	for ctx.Err() == nil {
		if !time.Now().Before(resume) {
			if err := in.deliver(ctx); err != nil && ctx.Err() == nil {
				resume = time.Now().Add(disk.Next(err))
			} else {
				disk.Over()
			}
		}
		wait, waits := in.untilDue()
		if !waits {
			wait = longTime
		}
		if paused := time.Until(resume); paused > 0 {
			wait = paused
		}
		timer.Reset(wait)
		select {
		case a := <-arrivals:
			in.more = a.more
			a.outcome <- in.c.sound(in.admit(ctx, a.body))
		case <-in.woken:
		case <-timer.C:
		case <-complete:
			in.release()
			complete = nil
		case <-ctx.Done():
		}
	}
}

// admit is accept for a delivery that is waited for. Why a webhook's was not taken is said once; a
// poller says it itself.
func (in *intake) admit(ctx context.Context, body []byte) error {
	err := in.accept(ctx, body)
	switch {
	case err == nil:
		in.refused = ""
	case in.c.hook != nil && ctx.Err() == nil && err.Error() != in.refused:
		in.refused = err.Error()
		in.c.log.Warn("message not received, Telegram will deliver it again", zap.Error(err))
	}
	return err
}

func (in *intake) limit() int {
	if in.c.hook == nil {
		return pollLimit
	}
	return shelfLimit
}

// accept takes one delivery in. When it returns nil, Telegram may forget the update.
func (in *intake) accept(ctx context.Context, body []byte) error {
	id := in.c.number(body)
	if id == 0 || in.has(id) {
		return nil
	}
	u, ok := in.decode(id, body)
	if !ok {
		return nil
	}
	e, part := in.place(ctx, u)
	switch {
	case e == nil:
		return nil
	case !part && in.isFree(e):
		if in.c.hook == nil {
			e.cursor = id // what came before it is received or on the shelf
		}
		if err := in.seal(ctx, e); err != nil {
			return err
		}
		return in.handOn(ctx, e)
	case len(in.queue) >= in.limit() && !part:
		return fmt.Errorf("%d updates wait already", in.limit())
	}
	slip, err := in.shelf.put(e.slip, id, body, e.isAlbum())
	if err != nil {
		return err
	}
	e.slip = slip
	in.enqueue(e, part, u)
	return nil
}

// isFree tells whether a new entry can be handed on at once: it is complete, needs no download, and
// nothing of its chat comes before it. A press and a command of ours go before what waits: Stop
// must not come when it is too late.
func (in *intake) isFree(e *entry) bool {
	if e.press != nil || in.isCommand(e) {
		return true
	}
	for _, before := range in.queue {
		if before.chat == e.chat {
			return false
		}
	}
	return !e.isAlbum() && !e.hasFiles()
}

// isCommand tells whether an entry is one of the commands in our menu, and nothing else.
func (in *intake) isCommand(e *entry) bool {
	if e.isAlbum() || e.hasFiles() {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(in.c.spoken(e.messages[0])), " ")
	return strings.HasPrefix(word, "/") && in.c.known(word)
}

// restore puts into the queue what an earlier run has left on the shelf.
func (in *intake) restore(ctx context.Context) error {
	slips, err := in.shelf.load()
	if err != nil {
		return err
	}
	for _, p := range slips {
		var e *entry
		for i, raw := range p.raw {
			u, ok := in.decode(p.updates[i], raw)
			switch {
			case !ok:
			case e == nil:
				e = in.entry(ctx, u)
			default:
				in.enqueue(e, true, u)
			}
		}
		if e == nil {
			continue // written by a version that took it for more
		}
		e.slip, e.awaits = p, !p.sealed
		in.enqueue(e, false, update{})
	}
	if len(slips) > 0 {
		in.c.log.Info("going on with what an earlier run has left", zap.Int("updates", len(slips)))
	}
	return nil
}

// anyAwaits tells whether an album may have lost its other parts to a restart.
func (in *intake) anyAwaits() bool {
	for _, e := range in.queue {
		if e.awaits {
			return true
		}
	}
	return false
}
