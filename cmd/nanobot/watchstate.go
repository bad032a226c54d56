package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/cmd/nanobot/state"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

const (
	// lookEvery is how often a daemon looks whether its state is still there.
	lookEvery = time.Second
	// lostPatience is how long a daemon without a state may take to end what runs. It is to have
	// ended within five seconds.
	lostPatience = 2 * time.Second
)

// watchState returns store.ErrUnusable when the state was removed, replaced or damaged while the
// daemon runs.
func (d daemon) watchState(ctx context.Context, w *dbfile.Watch) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for last := ""; ; {
		select {
		case <-w.Failed():
			return lost(w)
		case <-look.C:
			text := ""
			if err := w.Check(); err != nil {
				text = err.Error()
			}
			if text != "" && text != last && w.Err() == nil { // once an error, not once a look
				d.log.Warn("the state cannot be looked at, will retry", zap.String("error", text))
			}
			last = text
		case <-ctx.Done():
			return nil
		}
	}
}

// lost is why a daemon ends whose state cannot be used any more.
func lost(w *dbfile.Watch) error { return fmt.Errorf("%w: %w", store.ErrUnusable, w.Err()) }

// verifyState reads the databases through once: at the start there is no time for large ones.
func (d daemon) verifyState(ctx context.Context, w *dbfile.Watch) {
	for _, path := range []string{filepath.Join(d.cfg.Gateway.StateDir, sqlite.Database), state.WebHistory(d.cfg.Gateway.StateDir)} {
		if _, err := dbfile.Check(ctx, path); err != nil {
			_ = w.Judge(path, err) // all else is met by who works with it
		}
	}
}

// wait waits until everything has ended. Without a state nothing can be saved, so what does not end
// soon then dies with the process.
func (d daemon) wait(work *errgroup.Group, w *dbfile.Watch) error {
	done := make(chan error, 1)
	go func() { done <- work.Wait() }()
	select {
	case err := <-done:
		return err
	case <-w.Failed():
		d.log.Error("the state cannot be used any more, so this ends: nothing is received, and nothing confirmed", zap.Error(w.Err()))
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lostPatience):
		return lost(w)
	}
}
