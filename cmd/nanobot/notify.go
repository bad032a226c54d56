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

// statusInterval is how often the status line of systemctl status may change.
const statusInterval = 10 * time.Second

// notifier reports the daemon's state to systemd by sd_notify(3). Without systemd it sends nothing
// and starts no timer.
type notifier struct {
	log *zap.Logger

	mu     sync.Mutex
	up     bool   // READY was sent
	over   bool   // STOPPING was sent
	failed bool   // the last reload failed
	status string // the status line sent last
}

// notify sends assignments, one per line. The caller holds the lock, so that they are sent in
// order.
func (n *notifier) notify(lines ...string) {
	if _, err := sdnotify.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		n.log.Warn("the service manager cannot be told how we are", zap.Error(err))
	}
}

// ready reports that the daemon has started.
func (n *notifier) ready(ctx context.Context, g *gateway.Gateway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.over {
		n.up, n.status = true, n.line(ctx, g)
		n.notify(sdnotify.SdNotifyReady, "STATUS="+n.status)
	}
}

// reload reports a reload while f does it.
func (n *notifier) reload(ctx context.Context, g *gateway.Gateway, f func(*gateway.Gateway) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	speak := n.up && !n.over
	if speak {
		n.notify(sdnotify.SdNotifyReloading, strings.TrimSpace(sdnotify.SdNotifyMonotonicUsec()))
	}
	err := f(g)
	if err != nil {
		n.log.Error("config not reloaded, the last good one stays", zap.Error(err))
	} else {
		n.log.Info("config reloaded")
	}
	n.failed = err != nil
	if speak {
		n.status = n.line(ctx, g)
		n.notify(sdnotify.SdNotifyReady, "STATUS="+n.status)
	}
}

// stopping says that we are about to end, and how long that may take: longer than the unit expects,
// if the config says so.
func (n *notifier) stopping(g *gateway.Gateway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		return
	}
	n.over = true
	const spare = 15 * time.Second // to close what is open
	n.notify(sdnotify.SdNotifyStopping, "STATUS=ending, turns may finish", fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (g.ShutdownTimeout()+spare).Microseconds()))
}

// run keeps the status up to date, and the watchdog fed for as long as the gateway is alive, until
// ctx ends.
func (n *notifier) run(ctx context.Context, g *gateway.Gateway) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	status := time.NewTicker(statusInterval)
	defer status.Stop()
	limit, err := sdnotify.SdWatchdogEnabled(false)
	if err != nil {
		n.log.Warn("the watchdog is not fed", zap.Error(err))
	}
	var hungry <-chan time.Time
	if limit > 0 {
		// Three times within the limit, so that one time may fail.
		t := time.NewTicker(limit / 3)
		defer t.Stop()
		hungry = t.C
	}
	pulse, last := g.Liveness(), ""
	defer pulse.Wait()
	for {
		select {
		case <-status.C:
			n.refresh(ctx, g)
		case <-hungry:
			last = n.feed(ctx, pulse, limit/3, last)
		case <-ctx.Done():
			return
		}
	}
}

// feed notifies the watchdog if the gateway is alive. It returns what is wrong, which is logged
// when it changes.
func (n *notifier) feed(ctx context.Context, pulse *gateway.Liveness, within time.Duration, last string) (wrong string) {
	soon, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := pulse.Check(soon)
	if ctx.Err() != nil {
		return ""
	}
	if err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.notify(sdnotify.SdNotifyWatchdog)
		return ""
	}
	if err.Error() != last {
		n.log.Error("no sign of life for the watchdog, which will restart us if this lasts", zap.Error(err))
	}
	return err.Error()
}

// refresh says the status again if it has changed.
func (n *notifier) refresh(ctx context.Context, g *gateway.Gateway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if line := n.line(ctx, g); n.up && !n.over && line != n.status {
		n.status = line
		n.notify("STATUS=" + line)
	}
}

// line says in a few words how the gateway is. Whoever is on this machine can read it, so there are
// no names and no errors in it.
func (n *notifier) line(ctx context.Context, g *gateway.Gateway) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b, err := g.Summary(ctx)
	var parts []string
	if n.failed {
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
