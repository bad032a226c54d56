package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes gives the child its own session and so its own group, so that all of it can be killed
// and none of it waits for a terminal that it cannot have. Its controlling terminal, if it is to
// have one, is its stdin. The kernel kills the child when we die by kill -9. That is tied to the
// thread that forked; Go ends a thread only when a goroutine exits while locked to it, which
// nothing here does.
func attributes(o Options) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid: true, Setctty: o.Terminal != nil, Ctty: 0,
		Pdeathsig: syscall.SIGKILL, Credential: o.User, Cloneflags: o.Namespaces, AmbientCaps: o.Ambient,
	}
}

// hasExited reports whether a child that is not reaped has exited.
func hasExited(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && info.Signo != 0
		}
	}
}

// awaitExit returns when the child has exited, and leaves it to be reaped, so that its pid stays
// taken.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
