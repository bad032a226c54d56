package process

import (
	"bytes"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// Descendants returns the living processes that descend from the child, oldest first. One whose
// parent has died is found by its session, its cgroup or its mark, so that it may be missed if it
// has left all three.
func (c *Child) Descendants() (all []procfs.Stat) {
	below := map[int]bool{c.Pid(): true}
	var others []procfs.Stat
	for _, pid := range procfs.Pids() {
		if p, ok := procfs.ReadStat(pid); ok && !p.Dead() && pid != c.Pid() {
			others = append(others, p)
		}
	}
	// A parent is older than its children, except for PIDs that were started in the same tick.
	slices.SortFunc(others, func(a, b procfs.Stat) int {
		return int(a.Start) - int(b.Start)
	})
	for found := true; found; {
		found = false
		others = slices.DeleteFunc(others, func(p procfs.Stat) bool {
			if !below[p.Parent] && !c.hasLeft(p) {
				return false
			}
			found, below[p.Pid], all = true, true, append(all, p)
			return true
		})
	}
	return all
}

// hasLeft reports whether a process was reparented and is still known as the child's.
func (c *Child) hasLeft(p procfs.Stat) bool {
	if p.Parent != 1 && p.Parent != os.Getpid() {
		return false
	}
	s := c.supervised
	if p.Session == c.Pid() {
		return true
	}
	if s.subreaper == nil {
		return false
	}
	if cgroup, err := s.subreaper.cgroups.cgroupOf(p.Pid); err == nil && cgroup != "" {
		return cgroup == s.cgroup.path()
	}
	return slices.ContainsFunc(bytes.Split(procfs.Environ(p.Pid), []byte{0}), func(v []byte) bool {
		return s.mark != "" && string(v) == s.mark
	})
}

// KillTrees kills processes with all their descendants, and returns when they are dead, after a
// second at most. All are stopped before the first is killed, so that none of them forks meanwhile
// and no shell continues with its next command.
func KillTrees(roots []procfs.Stat) {
	stopped := map[int]procfs.Stat{}
	for stable := 0; stable < 2; stable++ { // a process may fork until the signal reaches it
		n := len(stopped)
		for _, p := range roots {
			stopTree(p, stopped)
		}
		if len(stopped) > n {
			stable = 0
		}
	}
	for pid := range stopped {
		_ = unix.Kill(pid, unix.SIGKILL) // its PID is not reused while it is stopped
	}
	for range 100 {
		alive := false
		for pid, p := range stopped {
			now, ok := procfs.ReadStat(pid)
			alive = alive || ok && now.Start == p.Start && !now.Dead()
		}
		if !alive {
			return
		}
		time.Sleep(10 * time.Millisecond) // the kernel does not report the end of a process that is not our child
	}
}

// stopTree stops a process and its descendants, unless the PID has been reused.
func stopTree(p procfs.Stat, stopped map[int]procfs.Stat) {
	now, ok := procfs.ReadStat(p.Pid)
	if !ok || now.Start != p.Start || now.Dead() {
		return
	}
	if _, known := stopped[p.Pid]; !known && unix.Kill(p.Pid, unix.SIGSTOP) != nil {
		return
	}
	stopped[p.Pid] = now
	for _, thread := range procfs.Threads(p.Pid) {
		for _, child := range procfs.Children(p.Pid, thread) {
			if c, ok := procfs.ReadStat(child); ok {
				stopTree(c, stopped)
			}
		}
	}
}
