// Package access changes and lists who may talk to a bot whose daemon may be running. It knows
// neither channels by name, other than the web chat, nor flags of the command line.
package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
)

// Options is what the commands need.
type Options struct {
	Config *config.Config
	// OpenStore opens the state beside the daemon.
	OpenStore func(ctx context.Context) (store.Store, error)
	// Record records that the operator let somebody in or shut them out.
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

// longestStop is how long a daemon may take to stop a turn, which is killed after ten seconds.
const longestStop = 20 * time.Second

// awaitStopped waits until the daemon, if one runs, has ended the turns of people who have lost
// access.
func (o Options) awaitStopped(ctx context.Context, s store.Store) bool {
	for until := time.Now().Add(longestStop); time.Now().Before(until); {
		turns, sends, err := s.Dismissed(ctx)
		if err != nil || len(turns)+len(sends) == 0 || !daemonRuns(o.Config.Gateway.StateDir) {
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

// daemonRuns reports whether the process that used a state last is alive.
func daemonRuns(state string) bool {
	text, err := os.ReadFile(filepath.Join(state, sqlite.LockFile))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
