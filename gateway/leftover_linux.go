package gateway

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store"
)

// thisMoment names a moment: the boot, and the kernel's ticks since. Of all processes that ever have a pid, the one that has it now is
// the last that began before now; so pid and moment together name it, and its own start need not be asked for, which takes longer.
func thisMoment() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return ""
	}
	return fmt.Sprintf("%s/%d", bootID(), t.Nano()/int64(time.Second/ticks))
}

// ticks is how many the kernel counts a second in what it tells of processes, whatever it counts itself.
const ticks = 100

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

// killLeftover kills what is left of an agent. The kernel killed the agent itself when its gateway died, but not its children: those
// are found by their session: that of a process with the turn's name in its environment, or of the agent itself.
// Its pid alone would not do, which may be another's by now.
func killLeftover(item store.Item) {
	p := item.Process
	if p.Pid != 0 && !sameBoot(p.Start) {
		return
	}
	sessions := othersWith(runVariable + runName(item))
	if lives(p) { // the kernel could not kill it, for it runs as another user perhaps
		sessions = append(sessions, strconv.Itoa(p.Pid))
	}
	for _, session := range sessions {
		for round := 0; round < 10 && killSession(session); round++ { // what forks meanwhile is found the next time
		}
	}
}

// sameBoot reports whether a moment was in this boot.
func sameBoot(moment string) bool { return strings.HasPrefix(moment, bootID()+"/") }

// lives reports whether a process that was noted is still there.
func lives(p store.Process) bool {
	fields := stat(strconv.Itoa(p.Pid))
	if p.Pid <= 1 || fields == nil {
		return false
	}
	_, noted, _ := strings.Cut(p.Start, "/")
	then, err := strconv.ParseInt(noted, 10, 64)
	if err != nil {
		return false
	}
	began, err := strconv.ParseInt(fields[startField], 10, 64)
	return err == nil && began <= then
}

// killKept kills the agents that a dead gateway of this name kept, and what they started, whether their leaders live or not: the one
// gateway that may have any is this one, and it has none yet.
func killKept(name string) {
	for _, session := range othersWith(keptVariable + name) {
		for round := 0; round < 10 && killSession(session); round++ {
		}
	}
}

// othersWith returns the sessions of processes with this variable, those included that left the agent's. Ours has it too if an agent
// has started us.
func othersWith(variable string) []string {
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
