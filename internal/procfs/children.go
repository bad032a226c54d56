package procfs

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Children returns the child processes of a thread. The main thread, whose ID is the PID, also has
// the processes that were reparented to a subreaper.
func Children(pid, thread int) []int {
	b, err := os.ReadFile(childrenFile(pid, thread))
	if err != nil {
		return childrenByParent(pid)
	}
	return parsePids(b)
}

// Threads returns the IDs of a process's threads.
func Threads(pid int) (threads []int) {
	entries, _ := os.ReadDir(procFile(pid, "task"))
	for _, e := range entries {
		thread, _ := strconv.Atoi(e.Name())
		threads = append(threads, thread)
	}
	return threads
}

// OwnChildren lists the children of this process's main thread. It keeps the file open, because
// opening it costs as much as reading it.
type OwnChildren struct {
	fd int // -1: the kernel has no such list
}

// OpenOwnChildren opens the list. On kernels without it, all processes are searched.
func OpenOwnChildren() *OwnChildren {
	us := os.Getpid()
	fd, err := unix.Open(childrenFile(us, us), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	return &OwnChildren{fd: fd}
}

// Pids returns the children. It may miss one while others are reaped.
func (o *OwnChildren) Pids() []int {
	var buf [1024]byte
	n, err := unix.Pread(o.fd, buf[:], 0)
	if us := os.Getpid(); err != nil || n > len(buf)/2 { // the list may be longer than the buffer
		return Children(us, us)
	}
	return parsePids(buf[:n])
}

// Close closes the file. Pids still works afterwards, more slowly.
func (o *OwnChildren) Close() {
	if o.fd >= 0 {
		_ = unix.Close(o.fd)
		o.fd = -1
	}
}

func childrenFile(pid, thread int) string {
	return procFile(pid, fmt.Sprintf("task/%d/children", thread))
}

// parsePids returns the numbers in a list that is separated by spaces.
func parsePids(b []byte) (pids []int) {
	n := 0
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int(c-'0')
		case n > 0:
			pids = append(pids, n)
			n = 0
		}
	}
	if n > 0 {
		pids = append(pids, n)
	}
	return pids
}

// childrenByParent is for kernels without CONFIG_PROC_CHILDREN.
func childrenByParent(pid int) (pids []int) {
	for _, child := range Pids() {
		if s, ok := ReadStat(child); ok && s.Parent == pid {
			pids = append(pids, child)
		}
	}
	return pids
}
