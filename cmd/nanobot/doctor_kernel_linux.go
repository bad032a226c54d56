package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/config"
)

// checkKernel says what of the isolation of agents this kernel can do, as this process sees it; a service may have more. It is only worth a
// warning where the config asks for it.
func (d *doctor) checkKernel() {
	t := d.cfg.Terminal
	abi := landlockABI()
	switch {
	case abi > 0:
		d.ok("kernel.landlock", "version %d", abi)
	case t.Sandbox == "landlock":
		d.say("kernel.landlock", channels.Doubtful, "not in this kernel, or not switched on, so terminal.sandbox does nothing",
			"boot Linux 5.13 or newer with landlock among the lsm= of the kernel's command line, or put a sandbox's command into terminal.sandbox")
	default:
		d.ok("kernel.landlock", "not in this kernel, or not switched on: terminal.sandbox cannot be landlock")
	}
	c := findCgroup("/proc/self/mountinfo", "/proc/self/cgroup")
	detail := c.String()
	if lacks := c.lacks(t.Limits); lacks != "" {
		d.say("kernel.cgroup", channels.Doubtful, detail+", so "+lacks+" cannot be kept for an agent as a whole", "run the bot by the systemd unit, which has Delegate=yes; look there if this is not it")
		return
	}
	d.ok("kernel.cgroup", "%s", detail)
}

// landlockABI returns the version of Landlock that the kernel has, or 0.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// cgroup is our place in the version 2 hierarchy.
type cgroup struct {
	dir         string // "": there is none
	writable    bool
	controllers []string
}

func (c cgroup) String() string {
	switch {
	case c.dir == "":
		return "there is no version 2 hierarchy"
	case !c.writable:
		return c.dir + " is not delegated to us"
	}
	return fmt.Sprintf("%s is ours, with these controllers: %s", c.dir, cmp.Or(strings.Join(c.controllers, ", "), "none"))
}

// lacks names a limit that is asked for and for which there is no controller.
func (c cgroup) lacks(l config.Limits) string {
	has := func(controller string) bool { return c.writable && slices.Contains(c.controllers, controller) }
	switch {
	case l.Memory > 0 && !has("memory"):
		return "terminal.limits.memory"
	case l.Processes > 0 && !has("pids"):
		return "terminal.limits.processes"
	}
	return ""
}

// findCgroup reads where it is mounted and where in it we are.
func findCgroup(mountinfo, own string) (c cgroup) {
	mount, path := "", ""
	mounts, _ := os.ReadFile(mountinfo) // without /proc there is nothing to find
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ") // id parent device root MOUNT options … - TYPE source options
		if fields := strings.Fields(before); len(fields) > 4 && strings.HasPrefix(after, "cgroup2 ") {
			mount = fields[4]
		}
	}
	groups, _ := os.ReadFile(own)
	for line := range strings.Lines(string(groups)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path = rest
		}
	}
	if mount == "" || path == "" {
		return c
	}
	c.dir = filepath.Join(mount, path)
	c.writable = unix.Access(c.dir, unix.W_OK) == nil && unix.Access(filepath.Join(c.dir, "cgroup.procs"), unix.W_OK) == nil
	list, _ := os.ReadFile(filepath.Join(c.dir, "cgroup.controllers"))
	c.controllers = strings.Fields(string(list))
	return c
}
