package process

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// moment names the present moment: the boot, and the kernel's clock ticks since. Of all processes
// that ever have a pid, the one that has it now is the last that started before now. So pid and
// moment together identify it, and reading its own start time, which takes longer, is not needed.
func moment() string {
	now := procfs.NowTicks()
	if now == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d", procfs.BootID(), now)
}

// KillRun kills what is left of the processes of a run. The kernel killed the recorded process
// itself when its parent died, but not its children: these are found by their session, which is
// that of a process with the run's name in its environment, or of the recorded process.
func KillRun(run string, r Record) {
	if r.Pid != notStarted && !sameBoot(r.Start) {
		return
	}
	sessions := otherSessionsWith(runVariable + run)
	if lives(r) { // the kernel could not kill it: it may run as another user
		sessions = append(sessions, r.Pid)
	}
	killSessions(sessions)
}

// KillOwned kills the processes that outlived a run of this owner, and what they started, whether
// their leaders live or not. It must be called before the owner starts any.
func KillOwned(owner string) { killSessions(otherSessionsWith(ownerVariable + owner)) }

func killSessions(sessions []int) {
	for _, session := range sessions {
		for round := 0; round < 10 && killSessionOnce(session); round++ { // the next round finds what was forked during this one
		}
	}
}

// sameBoot reports whether a moment was after the last boot.
func sameBoot(moment string) bool { return strings.HasPrefix(moment, procfs.BootID()+"/") }

// lives reports whether a recorded process still exists.
func lives(r Record) bool {
	p, ok := procfs.ReadStat(r.Pid)
	if r.Pid <= 1 || !ok {
		return false
	}
	_, recorded, _ := strings.Cut(r.Start, "/")
	ticks, err := strconv.ParseUint(recorded, 10, 64)
	return err == nil && p.Start <= ticks
}

// otherSessionsWith returns the sessions of processes with this variable, except our own session:
// it has the variable if an agent has started us.
func otherSessionsWith(variable string) (sessions []int) {
	own, _ := unix.Getsid(0)
	for _, pid := range procfs.Pids() {
		if !bytes.Contains(procfs.Environ(pid), []byte(variable+"\x00")) {
			continue
		}
		// A process that has just exited is in no session. Session 0 is that of processes from
		// outside our pid namespace.
		if p, ok := procfs.ReadStat(pid); ok && p.Session > 0 && p.Session != own && !slices.Contains(sessions, p.Session) {
			sessions = append(sessions, p.Session)
		}
	}
	return sessions
}

// killSessionOnce kills the processes of a session and reports whether there were any.
func killSessionOnce(session int) (found bool) {
	for _, pid := range procfs.Pids() {
		if p, ok := procfs.ReadStat(pid); ok && p.Session == session && !p.Dead() {
			found = unix.Kill(pid, unix.SIGKILL) == nil || found
		}
	}
	return found
}
