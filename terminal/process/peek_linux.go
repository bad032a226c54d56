package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// peek is what /proc says of a process.
type peek struct {
	pid, parent, session int
	dead                 bool
	start                uint64 // in ticks since the boot
	cpu                  time.Duration
}

// ticks is how many the kernel counts a second in what it tells of processes, whatever it counts itself.
const ticks = 100

// look asks for a process.
func look(pid int) (p peek, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name is in parentheses and may hold anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if err != nil || len(fields) < 20 {
		return peek{}, false
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(string(fields[i]), 10, 64)
		return n
	}
	p = peek{pid: pid, parent: int(number(1)), session: int(number(3)), start: number(19)}
	p.dead = fields[0][0] == 'Z' || fields[0][0] == 'X'
	p.cpu = time.Duration(number(11)+number(12)+number(13)+number(14)) * time.Second / ticks
	return p, true
}

func nowTicks() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return uint64(t.Nano()) / uint64(time.Second/ticks)
}

// childrenOf returns the children of a process's thread. The kernel gives orphans to the first one.
func childrenOf(pid, thread int) []int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, thread))
	if err != nil {
		return childrenByParent(pid)
	}
	return numbers(b)
}

func numbers(b []byte) (pids []int) {
	for word := range bytes.FieldsSeq(b) {
		if n, err := strconv.Atoi(string(word)); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// childrenByParent is for kernels that list no children.
func childrenByParent(pid int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := look(n); ok && p.parent == pid {
			pids = append(pids, n)
		}
	}
	return pids
}
