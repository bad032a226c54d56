package procfs

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// TreeMemory returns the memory in bytes of a process and its descendants, without pages that
// several processes may share, such as those of the program's file. Processes that have ended count
// as 0. A descendant whose parent has ended is missed.
func TreeMemory(pid int) int64 { return addTree(pid, map[int]bool{}) }

func addTree(pid int, seen map[int]bool) int64 {
	if seen[pid] { // on some kernels every thread has the children of all
		return 0
	}
	seen[pid] = true
	bytes := privateMemory(pid)
	for _, thread := range Threads(pid) {
		for _, child := range Children(pid, thread) {
			bytes += addTree(child, seen)
		}
	}
	return bytes
}

func privateMemory(pid int) int64 {
	b, _ := os.ReadFile(procFile(pid, "statm"))
	fields := strings.Fields(string(b)) // size resident shared …, in pages
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return max(resident-shared, 0) * int64(os.Getpagesize())
}

// UsableMemory returns the bytes of memory that this process and its children can use: those of the
// machine, or the limit of a cgroup that we are in. 0: unknown.
func UsableMemory() int64 {
	_, dir, _ := OwnCgroup() // without cgroup v2 there is no limit
	return usableMemory("/proc/meminfo", dir)
}

func usableMemory(meminfo, cgroup string) int64 {
	least := int64(math.MaxInt64)
	b, _ := os.ReadFile(meminfo)
	for line := range strings.Lines(string(b)) {
		// MemTotal:       16343964 kB
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			least = kib << 10
		}
	}
	for dir := cgroup; dir != ""; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err != nil {
			break // not a cgroup
		}
		b, _ := os.ReadFile(filepath.Join(dir, "memory.max")) // "max", or a number
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
			least = min(least, limit)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
