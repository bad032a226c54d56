//go:build !linux

package process

import "syscall"

// childAttributes gives the child its own session and process group, so that all its processes can
// be killed. Its controlling terminal, if it gets one, is its stdin.
func childAttributes(o Options) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: o.Terminal != nil, Ctty: 0, Credential: o.User}
}

// awaitExit returns when the child has exited. There is no portable way to leave it unreaped.
func awaitExit(l *leader) { l.reap() }

// hasExited returns false: there is no portable way to know without reaping the child.
func hasExited(int) bool { return false }
