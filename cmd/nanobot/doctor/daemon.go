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

	"nanobot/gateway/store/sqlite"
)

// findDaemon finds the daemon of this bot by its lock, or by systemd if the state cannot be read.
func (d *doctor) findDaemon() findings {
	pid, err := DaemonOf(d.cfg.Gateway.StateDir)
	d.daemonPID = pid
	if d.unit.Active() && d.unit.PID != 0 { // preferred, because an agent may write to the lock file
		d.daemonPID = d.unit.PID
	}
	switch {
	case d.daemonPID != 0:
		return good("is running (pid %d)", d.daemonPID)
	case err != nil:
		return doubtful("cannot tell whether it is running: "+err.Error(), "run this as root or as the daemon's user")
	}
	return good("is not running")
}

// DaemonOf returns the process ID of the daemon that uses a state, or 0.
func DaemonOf(stateDir string) (int, error) {
	return lockingProcess(filepath.Join(stateDir, sqlite.LockFile))
}

// lockingProcess returns the process ID of the daemon that has locked a file, or 0. It tries the
// lock only if that process exists: otherwise a daemon that is just starting could find the file
// locked by this process.
func lockingProcess(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0) // an agent may have replaced it by a pipe
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
		return 0, nil // no daemon has written its process ID, or it has ended
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return pid, nil
	}
	return 0, err
}

// checkHTTP tries to listen at the addresses, unless the daemon is running and listens there
// already.
func (d *doctor) checkHTTP(ctx context.Context) {
	for _, at := range []struct{ key, address string }{
		{"http.listen", d.cfg.HTTP.Listen},
		{"http.metricsListen", d.cfg.HTTP.MetricsListen},
	} {
		if at.address != "" {
			d.add("http", d.checkAddress(ctx, at.key, at.address))
		}
	}
}

func (d *doctor) checkAddress(ctx context.Context, key, address string) findings {
	if d.daemonPID != 0 {
		return good("%s is %s, where the daemon listens", key, address)
	}
	var l net.Listener
	var err error
	if failed := d.user.Do(func() { l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address) }); failed != nil {
		err = failed
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return doubtful(key+": "+err.Error(), "choose a port of at least 1024 for "+key+
			", unless the service has CAP_NET_BIND_SERVICE")
	case err != nil:
		return bad(key+": "+err.Error(),
			"end the program that uses this address (ss -ltnp shows it), or choose another address for "+key)
	}
	_ = l.Close()
	return good("%s is %s, which is free", key, address)
}
