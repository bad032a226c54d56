package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/gateway/store/sqlite"
)

// findDaemon finds out whether a daemon serves this bot: by its lock, or by systemd where the state
// cannot be read.
func (d *doctor) findDaemon() {
	const check = "daemon"
	pid, err := DaemonOf(d.cfg.Gateway.StateDir)
	d.running = pid
	if d.unit.Active() && d.unit.PID != 0 { // the agent can write anything into the lock
		d.running = d.unit.PID
	}
	switch {
	case d.running != 0:
		d.ok(check, "runs (pid %d)", d.running)
	case err != nil:
		d.report(check, channels.Doubtful, "cannot tell whether it runs: "+err.Error(), "run this as root or as the user that the daemon runs as")
	default:
		d.ok(check, "does not run")
	}
}

// DaemonOf returns the process id of the daemon that works on a state, or 0.
func DaemonOf(stateDir string) (int, error) {
	return lockHolder(filepath.Join(stateDir, sqlite.LockFile))
}

// lockHolder returns the process id of the daemon that holds a lock, or 0. It tries the lock only
// if that process exists, so that a daemon which is just starting does not find the lock taken by
// us.
func lockHolder(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0) // the agent may have put a pipe there
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := make([]byte, 32)
	n, _ := f.Read(b)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil || errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return 0, nil // one that nobody has signed is nobody's
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return pid, nil
	}
	return 0, err
}

// checkHTTP tries to listen at the addresses, unless a daemon runs, which listens there already.
func (d *doctor) checkHTTP(ctx context.Context) {
	d.checkAddress(ctx, "http.listen", d.cfg.HTTP.Listen)
	d.checkAddress(ctx, "http.metricsListen", d.cfg.HTTP.MetricsListen)
}

func (d *doctor) checkAddress(ctx context.Context, key, address string) {
	const check = "http"
	if address == "" {
		return
	}
	if d.running != 0 {
		d.ok(check, "%s is %s, and the daemon has it", key, address)
		return
	}
	var l net.Listener
	var err error
	if failed := d.user.Do(func() { l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address) }); failed != nil {
		err = failed
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		d.report(check, channels.Doubtful, key+": "+err.Error(), "choose a port from 1024 on for "+key+", unless the service is given CAP_NET_BIND_SERVICE")
		return
	case err != nil:
		d.report(check, channels.Bad, key+": "+err.Error(), "end the program that has this address (ss -ltnp shows it), or choose another for "+key)
		return
	}
	_ = l.Close()
	d.ok(check, "%s is %s, which is free", key, address)
}
