package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

const (
	// lookEvery is how often a daemon looks whether its state is still there.
	lookEvery = time.Second
	// lostPatience is how long a daemon without a state may take to end what runs. It is to have ended within five seconds.
	lostPatience = 2 * time.Second
)

// unusable gives an error that says that the state cannot be used its exit status, and the steps that lead out of it.
func unusable(cfg *config.Config, err error) error {
	dir := cfg.Gateway.StateDir
	var steps string
	status := exit.Config
	switch {
	case errors.Is(err, dbfile.ErrLost):
		status = exit.Lost
		steps = fmt.Sprintf("Nothing was confirmed since. Put the state back into %s before the next start, or let it begin a new one there.", dir)
	case errors.Is(err, dbfile.ErrDamaged):
		steps = fmt.Sprintf(`To restore it, stop the daemon, run "nanobot restore FILE" with a file of "nanobot backup", and start the daemon again.
To begin anew without it, stop the daemon and move %s, and what has that name with -wal and -shm behind it, out of its folder.`, damagedFile(dir, err))
	case errors.Is(err, dbfile.ErrNewer):
		steps = fmt.Sprintf(`Use the newer nanobot again. To stay with this one, stop the daemon, run "nanobot restore FILE" with a copy that was made before the
change, in %s or by "nanobot backup", and start the daemon again.`, filepath.Join(dir, sqlite.Copies))
	case errors.Is(err, dbfile.ErrUnopened):
		steps = "Run this as the user that the daemon runs as, or give that user the state: chown -hR USER " + format.ShellWord(dir)
	default:
		return err
	}
	return exit.Error{Status: status, Err: fmt.Errorf("%w\n%s", err, steps)}
}

// damagedFile is the database that an error is about.
func damagedFile(dir string, err error) string {
	if path := webHistory(dir); strings.Contains(err.Error(), path) {
		return path
	}
	return filepath.Join(dir, sqlite.Database)
}

// webHistory is the database of the web's conversations.
func webHistory(dir string) string { return filepath.Join(dir, webState, history.Database) }

// watchState returns store.ErrUnusable when the state was removed, replaced or damaged while the daemon runs.
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
	for _, path := range []string{filepath.Join(d.cfg.Gateway.StateDir, sqlite.Database), webHistory(d.cfg.Gateway.StateDir)} {
		if _, err := dbfile.Check(ctx, path); err != nil {
			_ = w.Judge(path, err) // all else is met by who works with it
		}
	}
}

// wait waits until everything has ended. Without a state nothing can be saved, so what does not end soon then dies with the process.
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
