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

// Record identifies a process to a later run of this program, which kills the processes that a
// crash has left. A PID alone would not do, because the kernel reuses PIDs.
type Record struct {
	Pid   int    // notStarted or starting if there is no process yet
	Start string // a bootMoment at which Pid was this process; "": not known
}

// The pids of records that name no process.
const (
	notStarted = 0
	starting   = -1
)

// NewRecord returns the record of a process that was just started.
func NewRecord(pid int) Record { return Record{Pid: pid, Start: bootMoment()} }

// NewStartingRecord returns the record of a process that is about to be started: after a crash,
// nobody knows whether it was.
func NewStartingRecord() Record { return NewRecord(starting) }

// NewNotStartedRecord returns the record that replaces NewStartingRecord's when the start failed.
func NewNotStartedRecord() Record { return NewRecord(notStarted) }

// NeverStarted reports whether no process was started, or about to be, since the last boot. An
// older record proves nothing, because a later one may not have reached the disk.
func (r Record) NeverStarted() bool { return r.Pid == notStarted && sameBoot(r.Start) }

const (
	// runVariable holds the name of a run in the environment of its processes.
	runVariable = "NANOBOT_RUN="
	// gatewayVariable holds the name of the gateway in the environment of processes that outlive a
	// run. After a crash only this variable identifies those that work on no run.
	gatewayVariable = "NANOBOT_KEPT="
)

// RunEnv returns the environment variable by which KillRun finds the processes of a run; none if
// the run has no name.
func RunEnv(run string) []string { return envEntry(runVariable, run) }

// GatewayEnv returns the environment variable by which KillPersistent finds processes that outlive
// a run; none if the gateway has no name.
func GatewayEnv(owner string) []string { return envEntry(gatewayVariable, owner) }

func envEntry(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{name + value}
}

// bootMoment returns the boot ID and the clock ticks since the boot. A PID and a moment identify a
// process: the last one that got this PID before the moment. That is cheaper than reading the start
// time of the process.
func bootMoment() string {
	now := procfs.TicksSinceBoot()
	if now == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d", procfs.BootID(), now)
}

// KillRun kills what is left of the processes of a run. The kernel has killed the recorded process
// when its parent died, but not its children. They are found by their session: that of any process
// with the run's name in its environment, or that of the recorded process.
func KillRun(run string, r Record) {
	if r.Pid != notStarted && !sameBoot(r.Start) {
		return
	}
	sessions := sessionsWithVariable(runVariable + run)
	if isAlive(r) { // the kernel could not kill it: it may run as another user
		sessions = append(sessions, r.Pid)
	}
	killSessions(sessions)
}

// KillPersistent kills the processes that a gateway kept between runs, and the processes in their
// sessions. It must be called before the gateway starts new ones.
func KillPersistent(owner string) { killSessions(sessionsWithVariable(gatewayVariable + owner)) }

// HasGatewayMark reports whether a process has the variable of GatewayEnv. It reports false if the
// environment of the process cannot be read.
func HasGatewayMark(pid int) bool {
	return bytes.Contains(procfs.Environ(pid), []byte(gatewayVariable))
}

func killSessions(sessions []int) {
	for _, session := range sessions {
		// the next round finds what was forked during this one
		for round := 0; round < 10 && killSessionOnce(session); round++ {
		}
	}
}

// sameBoot reports whether a moment is from the current boot.
func sameBoot(moment string) bool { return strings.HasPrefix(moment, procfs.BootID()+"/") }

// isAlive reports whether a recorded process still exists.
func isAlive(r Record) bool {
	p, ok := procfs.ReadStat(r.Pid)
	if r.Pid <= 1 || !ok {
		return false
	}
	_, recorded, _ := strings.Cut(r.Start, "/")
	ticks, err := strconv.ParseUint(recorded, 10, 64)
	return err == nil && p.Start <= ticks
}

// sessionsWithVariable returns the sessions of processes with this variable, except our own: it has
// the variable if an agent has started us.
func sessionsWithVariable(variable string) (sessions []int) {
	own, _ := unix.Getsid(0)
	for _, pid := range procfs.Pids() {
		if !bytes.Contains(procfs.Environ(pid), []byte(variable+"\x00")) {
			continue
		}
		// A process that has just exited is in no session. Session 0 belongs to processes from
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
