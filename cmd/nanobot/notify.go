package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	sdnotify "github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"

	"nanobot/gateway"
)

// statusEvery is how often the line that systemctl status shows may change.
const statusEvery = 10 * time.Second

// manager is the service manager that started us, if one did: it is told how we are in the way of
// sd_notify. Where there is none, nothing is sent and nothing wakes up.
type manager struct {
	log *zap.Logger

	mu     sync.Mutex
	up     bool   // READY was said
	over   bool   // STOPPING was said
	failed bool   // the last reload did
	status string // what was last said
}

// tell sends assignments, one a line. The caller holds the lock, so that they arrive in the order
// in which things happen.
func (m *manager) tell(lines ...string) {
	if _, err := sdnotify.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		m.log.Warn("the service manager cannot be told how we are", zap.Error(err))
	}
}

// ready says that the config is good and the channels run, or try to.
func (m *manager) ready(ctx context.Context, g *gateway.Gateway) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over {
		m.up, m.status = true, m.line(ctx, g)
		m.tell(sdnotify.SdNotifyReady, "STATUS="+m.status)
	}
}

// reload says that the config is read again while f does it.
func (m *manager) reload(ctx context.Context, g *gateway.Gateway, f func(*gateway.Gateway) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	speak := m.up && !m.over
	if speak {
		m.tell(sdnotify.SdNotifyReloading, strings.TrimSpace(sdnotify.SdNotifyMonotonicUsec()))
	}
	err := f(g)
	if err != nil {
		m.log.Error("config not reloaded, the last good one stays", zap.Error(err))
	} else {
		m.log.Info("config reloaded")
	}
	m.failed = err != nil
	if speak {
		m.status = m.line(ctx, g)
		m.tell(sdnotify.SdNotifyReady, "STATUS="+m.status)
	}
}

// stopping says that we are about to end, and how long that may take: longer than the unit expects,
// if the config says so.
func (m *manager) stopping(g *gateway.Gateway) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return
	}
	m.over = true
	const spare = 15 * time.Second // to close what is open
	m.tell(sdnotify.SdNotifyStopping, "STATUS=ending, turns may finish", fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (g.Patience()+spare).Microseconds()))
}

// run keeps the status up to date, and the watchdog fed for as long as the gateway is alive, until
// ctx ends.
func (m *manager) run(ctx context.Context, g *gateway.Gateway) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	status := time.NewTicker(statusEvery)
	defer status.Stop()
	limit, err := sdnotify.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warn("the watchdog is not fed", zap.Error(err))
	}
	var hungry <-chan time.Time
	if limit > 0 {
		// Three times within the limit, so that one time may fail.
		t := time.NewTicker(limit / 3)
		defer t.Stop()
		hungry = t.C
	}
	pulse, last := g.Pulse(), ""
	defer pulse.End()
	for {
		select {
		case <-status.C:
			m.refresh(ctx, g)
		case <-hungry:
			last = m.feed(ctx, pulse, limit/3, last)
		case <-ctx.Done():
			return
		}
	}
}

// feed feeds the watchdog if there is a pulse. It returns what is wrong, which is logged when it
// changes.
func (m *manager) feed(ctx context.Context, pulse *gateway.Pulse, within time.Duration, last string) (wrong string) {
	soon, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := pulse.Take(soon)
	if ctx.Err() != nil {
		return ""
	}
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.tell(sdnotify.SdNotifyWatchdog)
		return ""
	}
	if err.Error() != last {
		m.log.Error("no sign of life for the watchdog, which will restart us if this lasts", zap.Error(err))
	}
	return err.Error()
}

// refresh says the status again if it has changed.
func (m *manager) refresh(ctx context.Context, g *gateway.Gateway) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if line := m.line(ctx, g); m.up && !m.over && line != m.status {
		m.status = line
		m.tell("STATUS=" + line)
	}
}

// line says in a few words how the gateway is. Whoever is on this machine can read it, so there are
// no names and no errors in it.
func (m *manager) line(ctx context.Context, g *gateway.Gateway) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b, err := g.Brief(ctx)
	var parts []string
	if m.failed {
		parts = append(parts, "the config has a mistake, the last good one stays")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Channels)) {
		if b.Channels[name].OK {
			parts = append(parts, name+" ok")
		} else {
			parts = append(parts, name+" failing")
		}
	}
	parts = append(parts, fmt.Sprintf("%d running", b.Running))
	if err != nil {
		return strings.Join(append(parts, "the state cannot be read"), ", ")
	}
	return strings.Join(append(parts, fmt.Sprintf("%d waiting", b.Waiting)), ", ")
}
