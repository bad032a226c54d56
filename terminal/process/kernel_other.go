//go:build !linux

package process

import (
	"os"
	"os/signal"
	"syscall"
)

// childAttributes gives the child its own session and process group, so that all its processes can
// be killed. Its controlling terminal, if it gets one, is its stdin.
func childAttributes(o Options) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: o.Terminal != nil, Ctty: 0, Credential: o.User}
}

// awaitExit returns when the child has exited. There is no portable way to leave it unreaped.
func awaitExit(l *leader) { l.reap() }

// hasExited returns false: there is no portable way to know without reaping the child.
func hasExited(int) bool { return false }

// setUTF8 does nothing: not every system has such a mode.
func setUTF8(int) error { return nil }

// flushInput does nothing: not every system supports it.
func flushInput(int) error { return nil }

// echoIsOff always reports false: terminal modes are read on Linux only.
func echoIsOff(int) (bool, error) { return false, nil }

// ignoredSignals returns the signals that this program ignores, of those that Go does not catch by
// itself when it starts.
func ignoredSignals() (all []os.Signal) {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// withEmptyMask calls start. The child has the mask that this program was started with.
func withEmptyMask(start func() error) error { return start() }

// unreadBytes returns 0: only Linux is known to count what waits in a pipe from its write end.
func unreadBytes(*os.File) int { return 0 }

// maxrssUnit is the unit of rusage.ru_maxrss in bytes.
const maxrssUnit = 1

// pipe returns the read end and the write end of a pipe, which other children do not inherit.
func pipe() (fd [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err = syscall.Pipe(fd[:]); err == nil {
		syscall.CloseOnExec(fd[0])
		syscall.CloseOnExec(fd[1])
	}
	return fd, err
}

// setSubreaper reports false: there are no subreapers on this system.
func setSubreaper(bool) bool { return false }

// setCgroup is never called: there are no cgroups on this system.
func (l *leader) setCgroup(int) {}
