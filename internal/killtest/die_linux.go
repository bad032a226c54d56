package killtest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill a child whose parent has died.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
