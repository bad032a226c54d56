package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/beat"
	"nanobot/gateway/retry"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
)

// Run works until ctx ends, then drains: it receives nothing more, turns may end within
// DrainTimeout, and the remaining ones are killed and stay on disk for the next start. If the cause
// of ctx is store.ErrUnusable, turns are killed at once. ready, if not nil, is called after the
// recovery, before the channels run.
func (g *Gateway) Run(ctx context.Context, ready func()) error {
	// killed ends when the gateway no longer waits for turns.
	killed, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), store.ErrUnusable) { // the output of turns cannot be stored any more
			kill(errShutdown)
		}
	})()
	defer g.turns.Close()
	// Sending outlives the intake: the output of draining turns is still delivered.
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	var sends sync.WaitGroup
	sends.Go(func() { g.outbox.Run(sending) })
	sends.Go(func() { g.turns.Run(sending) })
	sends.Go(func() { g.intake.RunControls(sending) })
	sends.Go(func() { g.notices.Run(sending) })
	defer sends.Wait()
	defer stopSending()
	// The lease is renewed and access is watched while turns run, including the drain.
	watching, unwatch := context.WithCancel(killed)
	var background sync.WaitGroup
	defer background.Wait()
	defer unwatch()
	receiving, stopReceiving := context.WithCancelCause(ctx)
	defer stopReceiving(nil)
	forAccess, forPairing, forLeader := beat.NewListener(), beat.NewListener(), beat.NewListener()
	forForwards, forLabels, forAdoption := beat.NewListener(), beat.NewListener(), beat.NewListener()
	background.Go(func() {
		err := g.renewLease(watching, forAccess, forPairing, forLeader, forForwards, forLabels, forAdoption)
		if err != nil {
			stopReceiving(err)
			kill(errShutdown)
		}
	})
	if !g.recover(receiving) {
		return lostLease(receiving) // or ctx ended before the recovery was complete
	}
	g.turns.StartWarming()
	for name := range g.o.Channels {
		g.setChannelHealth(name, nil)
	}
	if ready != nil {
		ready()
	}
	background.Go(func() { g.forwards.Run(watching, forForwards) })
	background.Go(func() { g.revocation.Run(watching, forAccess) })
	var recovery errgroup.Group
	recovery.Go(func() error { return g.resumeSends(receiving) })
	recovery.Go(func() error { g.adoptLater(receiving, forAdoption); return nil })
	working, endWork := context.WithCancel(killed)
	background.Go(func() { g.lanes.Run(receiving, working) })
	defer endWork()
	err := g.lead(receiving, forLeader, forPairing, forLabels)
	stopReceiving(nil)
	err = errors.Join(err, recovery.Wait(), lostLease(receiving))
	g.turns.EndPersonWaits()
	killTimer := time.AfterFunc(g.currentSettings().DrainTimeout, func() { kill(errShutdown) })
	defer killTimer.Stop()
	g.drain(killed)
	return err
}

// renewLease renews the lease of this member until ctx ends, and returns beat.ErrLost when it is
// lost.
func (g *Gateway) renewLease(ctx context.Context, listeners ...beat.Listener) error {
	ready := func() bool { return !g.inPhase(resigned, ending) }
	err := beat.Run(ctx, g.lease, ready, g.o.Log, listeners...)
	if err != nil && g.o.Lost != nil {
		g.o.Lost()
	}
	return err
}

// lostLease returns beat.ErrLost if that has ended ctx.
func lostLease(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, beat.ErrLost) {
		return err
	}
	return nil
}

// recover cleans up after an earlier run: its agents are killed, its sends resolved, its turns
// reported or retried. All other pending messages are claimed by the lanes like new ones. It
// reports false when ctx ends before.
func (g *Gateway) recover(ctx context.Context) bool {
	return g.retryAll(ctx, func() error { return g.turns.KillLeftover(ctx) }) && g.adopt(ctx)
}

// adopt takes over the work of members that are gone. It reports false when ctx ends before.
func (g *Gateway) adopt(ctx context.Context) bool {
	var adopted store.Adopted
	// A completed step is not repeated: later steps send messages that are not from the earlier
	// run.
	return g.retryAll(ctx,
		func() (err error) { adopted, err = g.o.Store.Adopt(ctx); return err },
		func() error { g.turns.KillAgents(adopted.Inbounds); return g.outbox.Recover(ctx, adopted) },
		func() error { return g.turns.Recover(ctx, adopted) })
}

// retryAll takes steps, each until it succeeds. It reports false when ctx ends before.
func (g *Gateway) retryAll(ctx context.Context, steps ...func() error) bool {
	for _, step := range steps {
		err := retry.Until(ctx, step, func(err error) {
			if ctx.Err() == nil {
				g.o.Log.Error("cannot clean up after an earlier run, will retry", zap.Error(err))
			}
		})
		if err != nil {
			return false
		}
	}
	return true
}

// drain waits for the turns and for their output to be sent, until ctx ends.
func (g *Gateway) drain(ctx context.Context) {
	g.lanes.WaitForTurns()
	g.intake.IdleControls(ctx)
	g.turns.Idle(ctx)
	g.outbox.Idle(ctx)
}

// listen runs a channel as long as the gateway runs. A channel that fails is restarted with
// backoff, and does not affect other channels.
func (g *Gateway) listen(ctx context.Context, name string, ch channels.Channel) error {
	defer g.markEnded(ctx, name)
	pause := backoff.NewExponentialBackOff()
	for {
		began := time.Now()
		g.setChannelHealth(name, nil)
		err := g.runChannel(ctx, name, ch)
		if ctx.Err() != nil {
			return nil // it was told to end
		}
		if time.Since(began) > time.Minute {
			pause.Reset()
		}
		wait := pause.NextBackOff()
		g.setChannelHealth(name, err)
		g.o.Log.Error("channel failed, will retry", zap.String("channel", name), zap.Duration("after", wait), zap.Error(err))
		if !retry.Sleep(ctx, wait) {
			return nil
		}
	}
}

// runChannel runs a channel from the stored cursor, which another member may have moved since the
// last run.
func (g *Gateway) runChannel(ctx context.Context, name string, ch channels.Channel) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if r, ok := ch.(channels.Resumer); ok {
		cursor, err := g.o.Store.Cursor(ctx, name)
		if err != nil {
			return err
		}
		r.Resume(cursor)
	}
	if k, ok := ch.(channels.CursorKeeper); ok {
		k.KeepCursor(func(ctx context.Context, cursor string) error { return g.o.Store.SetCursor(ctx, name, cursor) })
	}
	if m, ok := ch.(channels.Menu); ok {
		m.SetMenu(g.choice.Menu())
	}
	return ch.Run(ctx, g.forwards.Receive)
}

// Zone returns the time zone of days.
func (g *Gateway) Zone() *time.Location {
	zone, err := schedule.LoadZone(g.currentSettings().Timezone)
	if err != nil { // the config has a right one
		return time.UTC
	}
	return zone
}
