package gateway

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store"
)

// startTime returns when a process began, in the kernel's ticks since boot, with the boot's id: together with the pid it names one process
// for ever. It is "" for a process that is gone.
func startTime(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything; the start time is the twentieth field behind it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[19]
}

// killLeftover kills the group of an agent that outlived its gateway, if it still is the same process.
func killLeftover(p store.Process) {
	if p.Pid > 1 && p.Start != "" && startTime(p.Pid) == p.Start {
		_ = unix.Kill(-p.Pid, unix.SIGKILL)
	}
}
