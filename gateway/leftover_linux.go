package gateway

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store"
)

// startTime returns when a process began, in the kernel's ticks since boot, with the boot's id: together with the pid it names one process
// for ever. It is "" for a process that is gone.
func startTime(pid int) string {
	fields := stat(strconv.Itoa(pid))
	if fields == nil {
		return ""
	}
	return bootID() + "/" + fields[startField]
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

// killLeftover kills what is left of an agent. The kernel killed the agent itself when its gateway died, but not its children: those
// are found by their session, which is the agent's own.
func killLeftover(item store.Item) {
	sessions := []string{strconv.Itoa(item.Process.Pid)}
	switch p := item.Process; {
	case p.Pid == 0: // we died before it was noted
		sessions = orphanedSessions(runVariable + runName(item))
	case p.Pid == 1 || !strings.HasPrefix(p.Start, bootID()+"/"):
		return
	default:
		// A pid is not given out again while a session has its number, so the session is the agent's unless its leader is another.
		if start := startTime(p.Pid); start != "" && start != p.Start {
			return
		}
	}
	for _, session := range sessions {
		for round := 0; round < 10 && killSession(session); round++ { // what forks meanwhile is found the next time
		}
	}
}

// orphanedSessions returns the sessions of processes with this variable whose leader is dead. A leader that lives is no agent of a
// dead gateway but something that left the agent's session on purpose.
func orphanedSessions(variable string) (sessions []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(variable+"\x00")) {
			continue
		}
		fields := stat(e.Name())
		if fields == nil {
			continue
		}
		if leader := stat(fields[sessionField]); leader == nil || leader[0] == "Z" {
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
