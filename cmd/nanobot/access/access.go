// Package access lists and changes who may talk to a bot, also while its daemon runs. Of the
// channels it knows only the chat page, and it knows no flags of the command line.
package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
)

// Options are the parameters of all functions.
type Options struct {
	Config *config.Config
	// OpenStore opens the state while the daemon may be running.
	OpenStore func(ctx context.Context) (store.Store, error)
	// Record writes to the audit log that the operator granted or revoked access.
	Record   func(decision string, g store.Pairing)
	Out, Err io.Writer
}

// withStore calls f with the open state.
func (o Options) withStore(ctx context.Context, f func(store.Store) error) error {
	s, err := o.OpenStore(ctx)
	if err != nil {
		return err
	}
	err = f(s)
	if cerr := s.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close state: %w", cerr))
	}
	return err
}

// StopTimeout is how long awaitStopped waits. The daemon kills a turn after ten seconds.
const StopTimeout = 20 * time.Second

// awaitStopped waits until a running daemon has ended the turns of people who have lost access. It
// reports false if they have not ended in time.
func (o Options) awaitStopped(ctx context.Context, s store.Store) bool {
	for until := time.Now().Add(StopTimeout); time.Now().Before(until); {
		turns, sends, err := s.Dismissed(ctx)
		if err != nil || len(turns)+len(sends) == 0 || !o.DaemonRuns(ctx, s) {
			return err == nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// DaemonRuns reports whether a daemon runs: a member of a shared store on any machine, or else the
// process that used the state last.
func (o Options) DaemonRuns(ctx context.Context, s store.Store) bool {
	if o.Config.Gateway.Store != "" {
		all, err := s.ListMembers(ctx)
		return err == nil && slices.ContainsFunc(all, func(m store.MemberStatus) bool { return m.State != store.Gone })
	}
	text, err := os.ReadFile(filepath.Join(o.Config.Gateway.StateDir, sqlite.LockFile))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
