// Package procfs reads information about processes from /proc. On systems without /proc it finds no
// process. It only reads; decisions about processes are the caller's.
package procfs

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// TicksPerSecond is the unit of all times in /proc/N/stat. It is the same on every Linux system,
// whatever the kernel's own timer frequency is.
const TicksPerSecond = 100

// Stat has the needed fields of /proc/N/stat.
type Stat struct {
	Pid, Parent, Session int
	State                byte
	Start                uint64        // in clock ticks since boot
	CPU                  time.Duration // including children that it has waited for
	Resident             int64         // in bytes
}

// Dead reports whether the process has exited and waits to be reaped by its parent.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

// ReadStat reads the Stat of a process. It reports false if there is no such process.
func ReadStat(pid int) (Stat, bool) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return Stat{}, false
	}
	return parseStat(pid, b)
}

// The indexes of the fields of /proc/N/stat that follow the program's name. proc_pid_stat(5) counts
// from 1 and from the pid, so that these are 3 less than there.
const (
	stateField     = 0
	parentField    = 1
	sessionField   = 3
	cpuField       = 11 // the first of four: user and system time, and both of its reaped children
	cpuFields      = 4
	startField     = 19
	residentField  = 21 // in pages
	expectedFields = residentField + 1
)

func parseStat(pid int, b []byte) (Stat, bool) {
	// The name is in parentheses and may contain anything, parentheses and spaces included.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < expectedFields {
		return Stat{}, false
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(string(fields[i]), 10, 64)
		return n
	}
	// A process that is being released has the session -1.
	session, err := strconv.Atoi(string(fields[sessionField]))
	if err != nil {
		return Stat{}, false
	}
	s := Stat{
		Pid: pid, Parent: int(number(parentField)), Session: session,
		State: fields[stateField][0], Start: number(startField),
		Resident: int64(number(residentField)) * int64(os.Getpagesize()),
	}
	for i := range cpuFields {
		s.CPU += time.Duration(number(cpuField+i)) * time.Second / TicksPerSecond
	}
	return s, true
}

// Pids returns the pids of all processes, in no order.
func Pids() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Environ returns the initial environment of a process's program: entries that each end with a NUL.
// It is empty if we may not read it, and for a moment during execve.
func Environ(pid int) []byte {
	b, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return nil
	}
	return b
}

// Args returns the program of a process and its arguments. It is empty if we may not read them, and
// for a process that has exited.
func Args(pid int) []string {
	b, err := os.ReadFile(procFile(pid, "cmdline"))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// OpenFiles returns how many file descriptors this process has open.
func OpenFiles() (int, error) {
	files, err := os.ReadDir("/proc/self/fd")
	return len(files) - 1, err // without the descriptor that reads the folder
}

// BootID returns the kernel's ID of the current boot.
var BootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
