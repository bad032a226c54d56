package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/state"
	"nanobot/gateway/beat"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/terminal/process"
)

const (
	// stateCheckInterval is how often the daemon checks that its state still exists.
	stateCheckInterval = time.Second
	// lostStateTimeout is how long running work may continue after the state was lost. The daemon
	// must have exited within five seconds.
	lostStateTimeout = 2 * time.Second
)

// watchState returns store.ErrUnusable when the state was removed, replaced or damaged while the
// daemon runs.
func (d daemon) watchState(ctx context.Context, w *dbfile.Watch) error {
	check := time.NewTicker(stateCheckInterval)
	defer check.Stop()
	for last := ""; ; {
		select {
		case <-w.Failed():
			return stateLostError(w)
		case <-check.C:
			text := ""
			if err := w.Check(); err != nil {
				text = err.Error()
			}
			if text != "" && text != last && w.Err() == nil { // logged when the error changes
				d.log.Warn("state not checked, will retry", zap.String("error", text))
			}
			last = text
		case <-ctx.Done():
			return nil
		}
	}
}

// stateLostError returns the error of a daemon whose state can no longer be used.
func stateLostError(w *dbfile.Watch) error { return fmt.Errorf("%w: %w", store.ErrUnusable, w.Err()) }

// verifyState checks the databases completely, after the start: large ones would delay it.
func (d daemon) verifyState(ctx context.Context, w *dbfile.Watch) {
	if d.cfg.Gateway.Store != "" {
		return
	}
	for _, path := range []string{
		filepath.Join(d.cfg.Gateway.StateDir, sqlite.Database),
		state.WebHistory(d.cfg.Gateway.StateDir),
	} {
		if _, err := dbfile.Check(ctx, path); err != nil {
			_ = w.FailIfDamaged(path, err) // other errors are reported by the operations that meet them
		}
	}
}

// loseLease ends the agents and soon the daemon, when the lease could not be renewed for two thirds
// of its time. Other members may adopt the work as soon as it has ended, so nothing may delay the
// exit: neither a connection that does not answer nor a log that nobody reads.
func (d daemon) loseLease() {
	time.AfterFunc(time.Duration(d.cfg.Gateway.Member.TTL)*time.Second/12, func() { os.Exit(exit.NoLease) })
	process.KillAll()
}

// wait waits until all goroutines have ended. After the state was lost nothing can be saved, so it
// returns after lostStateTimeout.
func (d daemon) wait(work *errgroup.Group, w *dbfile.Watch, lostLease <-chan struct{}) error {
	done := make(chan error, 1)
	go func() { done <- work.Wait() }()
	select {
	case err := <-done:
		return err
	case <-lostLease:
		d.log.Error("the lease could not be renewed, so the agents are killed and the daemon exits; other members take over",
			zap.Int("ttl", d.cfg.Gateway.Member.TTL))
		<-done
		return exit.Error{Status: exit.NoLease, Err: beat.ErrLost}
	case <-w.Failed():
		d.log.Error("the state can no longer be used, so the daemon exits; nothing more is received or confirmed",
			zap.Error(w.Err()))
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lostStateTimeout):
		return stateLostError(w)
	}
}
