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

	mu           sync.Mutex
	readySent    bool
	stoppingSent bool
	reloadFailed bool   // the last reload failed
	status       string // the status line sent last
}

// notify sends assignments, one per line. The caller holds the lock, so that they are sent in
// order.
func (n *notifier) notify(lines ...string) {
	if _, err := sdnotify.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		n.log.Warn("systemd not notified", zap.Error(err))
	}
}

// ready reports that the daemon has started.
func (n *notifier) ready(ctx context.Context, g *gateway.Gateway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.stoppingSent {
		n.readySent, n.status = true, n.statusLine(ctx, g)
		n.notify(sdnotify.SdNotifyReady, "STATUS="+n.status)
	}
}

// reload calls f to reload the config, and reports its begin and end.
func (n *notifier) reload(ctx context.Context, g *gateway.Gateway, f func(*gateway.Gateway) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	running := n.readySent && !n.stoppingSent
	if running {
		n.notify(sdnotify.SdNotifyReloading, strings.TrimSpace(sdnotify.SdNotifyMonotonicUsec()))
	}
	err := f(g)
	if err != nil {
		n.log.Error("config not reloaded, the old one stays in use", zap.Error(err))
	} else {
		n.log.Info("config reloaded")
	}
	n.reloadFailed = err != nil
	if running {
		n.status = n.statusLine(ctx, g)
		n.notify(sdnotify.SdNotifyReady, "STATUS="+n.status)
	}
}

// stopping reports that the daemon is stopping, and how long that may take, which the config may
// allow to be longer than TimeoutStopSec= of the unit.
func (n *notifier) stopping(g *gateway.Gateway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stoppingSent {
		return
	}
	n.stoppingSent = true
	const spare = 15 * time.Second // to close the channels and the state
	n.notify(sdnotify.SdNotifyStopping, "STATUS=stopping, running turns may finish",
		fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (g.ShutdownTimeout()+spare).Microseconds()))
}

// run updates the status line, and notifies the watchdog while the gateway is alive, until ctx
// ends.
func (n *notifier) run(ctx context.Context, g *gateway.Gateway) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	status := time.NewTicker(statusInterval)
	defer status.Stop()
	limit, err := sdnotify.SdWatchdogEnabled(false)
	if err != nil {
		n.log.Warn("the watchdog is not notified", zap.Error(err))
	}
	var watchdog <-chan time.Time
	if limit > 0 {
		// Three notifications within the limit, so that one may fail.
		t := time.NewTicker(limit / 3)
		defer t.Stop()
		watchdog = t.C
	}
	liveness, last := g.Liveness(), ""
	defer liveness.Wait()
	for {
		select {
		case <-status.C:
			n.updateStatus(ctx, g)
		case <-watchdog:
			last = n.notifyWatchdog(ctx, liveness, limit/3, last)
		case <-ctx.Done():
			return
		}
	}
}

// notifyWatchdog notifies the watchdog if the gateway is alive. It returns the problem otherwise,
// and logs it if it differs from the last one.
func (n *notifier) notifyWatchdog(ctx context.Context, liveness *gateway.Liveness, within time.Duration,
	last string,
) (problem string) {
	soon, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := liveness.Check(soon)
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
		n.log.Error("the gateway does not respond, systemd will restart the daemon if this lasts", zap.Error(err))
	}
	return err.Error()
}

// updateStatus sends the status line if it has changed.
func (n *notifier) updateStatus(ctx context.Context, g *gateway.Gateway) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if line := n.statusLine(ctx, g); n.readySent && !n.stoppingSent && line != n.status {
		n.status = line
		n.notify("STATUS=" + line)
	}
}

// statusLine describes the state of the gateway in a few words. Every user of this machine can read
// it, so it has no names and no errors.
func (n *notifier) statusLine(ctx context.Context, g *gateway.Gateway) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b, err := g.Summary(ctx)
	var parts []string
	if n.reloadFailed {
		parts = append(parts, "the config has a mistake, the old one stays in use")
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
