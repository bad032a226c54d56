package killtest

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the child when its parent dies.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// hasExited reports whether a child has exited, and leaves it to be waited for.
func hasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0 || errors.Is(err, unix.ECHILD)
}
