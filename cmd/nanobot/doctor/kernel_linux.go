package doctor

import (
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// checkKernel reports which isolation this kernel offers to this process; a service may have more.
// A missing feature is a warning only if the config uses it.
func (d *doctor) checkKernel() {
	abi := LandlockABI()
	var keys []string // the settings that use Landlock
	d.forEachAgent(func() {
		if d.cfg.Terminal.Sandbox == sandbox.Landlock {
			keys = append(keys, d.agentKey("sandbox"))
		}
	})
	switch {
	case abi > 0:
		d.add("kernel.landlock", good("version %d", abi))
	case len(keys) > 0:
		d.add("kernel.landlock", doubtful("missing in this kernel or turned off, so "+strings.Join(keys, " and ")+
			" has no effect",
			"boot Linux 5.13 or newer with landlock in lsm= of the kernel command line, or set the command of another sandbox"))
	default:
		d.add("kernel.landlock", good("missing in this kernel or turned off, so terminal.sandbox cannot be landlock"))
	}
	if d.user.UID != 0 {
		d.add("kernel.cgroup", good("not checked, because the daemon runs as another user; its log reports it at the start"))
		return
	}
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	d.add("kernel.cgroup", good("%s", supervisor.Describe())) // missing limits are findings of checkConfig
}

// LandlockABI returns the version of Landlock that the kernel has, or 0.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}
