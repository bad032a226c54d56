//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes gives the child its own session and so its own group, so that all of it can be killed.
// Its controlling terminal, if it has one, is its stdin.
func attributes(o Options) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: o.Terminal != nil, Ctty: 0, Credential: o.User}
}

// awaitExit returns when the child has exited. There is no portable way to leave it unreaped.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// hasExited would have to reap the child to know.
func hasExited(int) bool { return false }
