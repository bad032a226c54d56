package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// moment names the present moment: the boot, and the kernel's clock ticks since. Of all processes
// that ever have a pid, the one that has it now is the last that started before now. So pid and
// moment together identify it, and reading its own start time, which takes longer, is not needed.
func moment() string {
	now := nowTicks()
	if now == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d", bootID(), now)
}

var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

// Fields of /proc/N/stat behind the name, which is in parentheses and may hold anything.
const sessionField, startField = 3, 19

func stat(pid string) []string {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= startField {
		return nil
	}
	return fields
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
		sessions = append(sessions, strconv.Itoa(r.Pid))
	}
	killSessions(sessions)
}

// KillOwned kills the processes that outlived a run of this owner, and what they started, whether
// their leaders live or not. It must be called before the owner starts any.
func KillOwned(owner string) { killSessions(otherSessionsWith(ownerVariable + owner)) }

func killSessions(sessions []string) {
	for _, session := range sessions {
		for round := 0; round < 10 && killSession(session); round++ { // the next round finds what was forked during this one
		}
	}
}

// sameBoot reports whether a moment was after the last boot.
func sameBoot(moment string) bool { return strings.HasPrefix(moment, bootID()+"/") }

// lives reports whether a recorded process still exists.
func lives(r Record) bool {
	fields := stat(strconv.Itoa(r.Pid))
	if r.Pid <= 1 || fields == nil {
		return false
	}
	_, recorded, _ := strings.Cut(r.Start, "/")
	then, err := strconv.ParseInt(recorded, 10, 64)
	if err != nil {
		return false
	}
	began, err := strconv.ParseInt(fields[startField], 10, 64)
	return err == nil && began <= then
}

// otherSessionsWith returns the sessions of processes with this variable, except our own session:
// it has the variable if an agent has started us.
func otherSessionsWith(variable string) []string {
	own, _ := unix.Getsid(0)
	return slices.DeleteFunc(sessionsWith(variable), func(session string) bool { return session == strconv.Itoa(own) })
}

// sessionsWith returns the sessions of processes with this variable.
func sessionsWith(variable string) (sessions []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(variable+"\x00")) {
			continue
		}
		if fields := stat(e.Name()); fields != nil && !slices.Contains(sessions, fields[sessionField]) {
			sessions = append(sessions, fields[sessionField])
		}
	}
	return sessions
}

// killSession kills the processes of a session and reports whether there were any.
func killSession(session string) (found bool) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields := stat(e.Name()); fields != nil && fields[sessionField] == session && fields[0] != "Z" {
			found = unix.Kill(pid, unix.SIGKILL) == nil || found
		}
	}
	return found
}
