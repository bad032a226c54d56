package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes gives the child its own session and process group, so that all its processes can
// be killed, and none waits for our terminal. Its controlling terminal, if it gets one, is its
// stdin. Pdeathsig makes the kernel kill the child when this program dies. It is tied to the thread
// that forked; Go ends a thread only when a goroutine exits while locked to it, which no goroutine
// here does.
func childAttributes(o Options) *syscall.SysProcAttr {
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

// awaitExit returns when the child has exited, without reaping it, so that its PID is not reused.
func awaitExit(l *leader) {
	for {
		err := unix.Waitid(unix.P_PID, l.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
