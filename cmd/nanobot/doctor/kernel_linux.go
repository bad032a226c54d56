package doctor

import (
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// checkKernel reports which isolation of agents this kernel supports for this process; a service
// may have more. What is missing is a warning only if the config asks for it.
func (d *doctor) checkKernel() {
	abi := LandlockABI()
	var wanting []string // the keys that ask for it
	d.forAgents(func() {
		if d.cfg.Terminal.Sandbox == sandbox.Landlock {
			wanting = append(wanting, d.key("sandbox"))
		}
	})
	switch {
	case abi > 0:
		d.ok("kernel.landlock", "version %d", abi)
	case len(wanting) > 0:
		d.report("kernel.landlock", channels.Doubtful, "not in this kernel, or not switched on, so what is in "+strings.Join(wanting, " and ")+" does nothing",
			"boot Linux 5.13 or newer with landlock among the lsm= of the kernel's command line, or put a sandbox's command there")
	default:
		d.ok("kernel.landlock", "not in this kernel, or not switched on: terminal.sandbox cannot be landlock")
	}
	if d.user.UID != 0 {
		d.ok("kernel.cgroup", "not looked at, because the daemon is another user; its log says at its start what it has")
		return
	}
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	d.ok("kernel.cgroup", "%s", supervisor.Describe()) // what the limits lack was said before
}

// LandlockABI returns the version of Landlock that the kernel has, or 0.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}
