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
	"nanobot/gateway/retry"
	"nanobot/gateway/runbook"
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
	if !g.recover(ctx) {
		return nil // ctx ended before the recovery was complete
	}
	g.receiving.Store(true)
	defer context.AfterFunc(ctx, func() { g.receiving.Store(false) })()
	g.turns.StartWarming()
	for name := range g.o.Channels {
		g.setChannelHealth(name, nil)
	}
	if ready != nil {
		ready()
	}
	// Access is watched while turns run, including the drain.
	watching, unwatch := context.WithCancel(killed)
	var background sync.WaitGroup
	background.Go(func() { g.revocation.Run(watching) })
	defer background.Wait()
	defer unwatch()
	working, endWork := context.WithCancel(killed)
	background.Go(func() { g.lanes.Run(ctx, working) })
	defer endWork()
	var work errgroup.Group
	work.Go(func() error {
		err := retry.Until(ctx, func() error { return g.access.DismissUnadmitted(ctx) }, func(err error) {
			g.o.Log.Error("cannot look for revoked access, will retry", zap.Error(err))
		})
		if err != nil {
			return nil //nolint:nilerr // ctx has ended
		}
		return g.outbox.Resume(ctx)
	})
	work.Go(func() error { return g.intake.WelcomeAdmitted(ctx) })
	work.Go(func() error { return g.prune(ctx) })
	work.Go(func() error { g.schedules.Run(ctx); return nil })
	for name, ch := range g.o.Channels {
		work.Go(func() error { return g.listen(ctx, name, ch) })
	}
	err := work.Wait()
	g.turns.EndPersonWaits()
	killTimer := time.AfterFunc(g.currentSettings().DrainTimeout, func() { kill(errShutdown) })
	defer killTimer.Stop()
	g.drain(killed)
	return err
}

// recover cleans up after an earlier run: its agents are killed, its sends resolved, its turns
// reported or retried. All other pending messages are claimed by the lanes like new ones. It
// reports false when ctx ends before.
func (g *Gateway) recover(ctx context.Context) bool {
	var adopted store.Adopted
	// A completed step is not repeated: later steps send messages that are not from the earlier
	// run.
	for _, step := range []func() error{
		func() (err error) { adopted, err = g.o.Store.Adopt(ctx); return err },
		func() error { return g.turns.KillLeftover(ctx, adopted.Inbounds) },
		func() error { return g.outbox.Recover(ctx, adopted) },
		func() error { return g.turns.Recover(ctx, adopted) },
	} {
		err := retry.Until(ctx, step, func(err error) {
			if ctx.Err() == nil {
				g.o.Log.Error("cannot clean up after the last run, will retry", zap.Error(err))
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
	if r, ok := ch.(channels.Resumer); ok {
		for {
			cursor, err := g.o.Store.Cursor(ctx, name)
			if err == nil {
				r.Resume(cursor)
				break
			}
			g.o.Log.Error("cannot read the cursor, will retry", zap.String("channel", name), zap.Error(err))
			if !retry.Sleep(ctx, time.Second) {
				return nil
			}
		}
	}
	if k, ok := ch.(channels.CursorKeeper); ok {
		k.KeepCursor(func(ctx context.Context, cursor string) error { return g.o.Store.SetCursor(ctx, name, cursor) })
	}
	if m, ok := ch.(channels.Menu); ok {
		m.SetMenu(g.choice.Menu())
	}
	pause := backoff.NewExponentialBackOff()
	for {
		began := time.Now()
		g.setChannelHealth(name, nil)
		err := g.runChannel(ctx, ch)
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

func (g *Gateway) runChannel(ctx context.Context, ch channels.Channel) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return ch.Run(ctx, g.intake.Receive)
}

// retention is how long finished rows are kept, for /status and the history.
var retention = store.Retention{Age: 30 * 24 * time.Hour, Count: 100_000}

// firstPrune is the time from the start to the first pruning: a daemon that is often restarted has
// to prune, too.
const firstPrune = 2 * time.Minute

func (g *Gateway) prune(ctx context.Context) error {
	for wait := firstPrune; retry.Sleep(ctx, wait); wait = time.Hour {
		g.intake.ResetRefusalLog()
		g.pruneFiles(ctx)
		if err := g.o.Store.Prune(ctx, retention); err != nil && ctx.Err() == nil {
			g.o.Log.Warn("prune failed", zap.Error(err))
		}
		if err := (runbook.Runs{Records: g.o.Store}).PruneAgentRuns(ctx, retention.Age); err != nil && ctx.Err() == nil {
			g.o.Log.Warn("runs of agents not pruned", zap.Error(err))
		}
	}
	return nil
}
