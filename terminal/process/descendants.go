package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// descendants finds the descendants of one child among the processes that were reparented to us.
type descendants struct {
	*subreaper
	leader        int // the child's pid
	child         *supervisedChild
	seen          map[int]uint64 // start time by pid of processes below a descendant, used without cgroups
	unsureSweeps  int
	sparedProcess bool // the last sweep spared a process that may belong to another child
}

// killSweep reaps dead reparented processes of all children and kills the descendants of this
// child. It reports whether it found any, and whether it could not identify a process.
func (d *descendants) killSweep() (found, unsure bool) {
	// While the lock is held, a child of ours that is neither started nor starting was reparented,
	// and its pid stays its own until we reap it.
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sparedProcess = false
	us := os.Getpid()
	for _, pid := range procfs.Children(us, us) {
		p, ok := procfs.ReadStat(pid)
		if d.started[pid] != nil || !ok || p.Parent != us || p.Session == d.session {
			continue
		}
		cgroup, err := d.cgroups.cgroupOf(pid)
		if err != nil || p.Dead() && d.mayBeStarting(p, cgroup) {
			unsure = true
			continue
		}
		if p.Dead() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			found = true // its children may only now be ours
			continue
		}
		mine, sure := d.isDescendant(p, cgroup)
		unsure = unsure || !sure
		if mine {
			if d.cgroups == nil {
				d.recordSubtree(pid, 0)
			}
			_ = unix.Kill(pid, unix.SIGKILL)
			found = true
		}
	}
	return found, unsure
}

// KillAll kills every process that this program or its descendants have started. The program must
// end then.
func KillAll() {
	for range 3 { // what is reparented to us meanwhile is found by the next one
		killSubtree(os.Getpid(), 0)
	}
}

func killSubtree(pid, depth int) {
	for _, thread := range procfs.Threads(pid) {
		for _, child := range procfs.Children(pid, thread) {
			if depth < 100 {
				killSubtree(child, depth+1)
			}
			_ = unix.Kill(child, unix.SIGKILL)
		}
	}
}

// recordSubtree records the processes below a descendant, because nothing may identify them once
// they are reparented.
func (d *descendants) recordSubtree(pid, depth int) {
	for _, thread := range procfs.Threads(pid) {
		for _, child := range procfs.Children(pid, thread) {
			if p, ok := procfs.ReadStat(child); ok && depth < 100 {
				d.seen[child] = p.Start
				d.recordSubtree(child, depth+1)
			}
		}
	}
}

// isDescendant reports whether a reparented process descends from this child, or from a child that
// is gone. With cgroups, its cgroup decides; a process that has left its cgroup is spared only if
// it has the mark of another living child. Without cgroups, a process without a mark cannot be told
// from a descendant of an older living child.
func (d *descendants) isDescendant(p procfs.Stat, cgroup string) (mine, sure bool) {
	if cgroup != "" {
		return cgroup == d.child.cgroup.path() ||
			!d.anyChild(func(c *supervisedChild) bool { return c.cgroup.path() == cgroup }), true
	}
	if p.Session == d.leader || d.seen[p.Pid] == p.Start && p.Start != 0 {
		return true, true
	}
	environ := procfs.Environ(p.Pid)
	ours := []byte(markVariable + strconv.Itoa(os.Getpid()) + ".")
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.HasPrefix(v, ours) {
			return string(v) == d.child.mark || !d.anyChild(func(c *supervisedChild) bool { return string(v) == c.mark }), true
		}
	}
	if d.mayBeStarting(p, cgroup) {
		return false, false
	}
	// A process without a mark has cleared its environment. It descends from a child that started
	// before it; if no other living child did, it descends from this one.
	for pid, c := range d.started {
		if pid != d.leader && c.cgroup == nil && c.startedAt <= p.Start {
			d.sparedProcess = true
			return false, len(environ) > 0
		}
	}
	sure = d.cgroups == nil || len(environ) > 0 || d.unsureSweeps >= maxUnsureSweeps
	return sure, sure
}

// mayBeStarting reports whether a process may be a leader that is still being started.
func (r *subreaper) mayBeStarting(p procfs.Stat, cgroup string) bool {
	for c := range r.starting {
		if c.startedAt <= p.Start && c.cgroup.path() == cgroup {
			return true
		}
	}
	return false
}

// anyChild reports whether a condition holds for any living or starting child.
func (r *subreaper) anyChild(is func(*supervisedChild) bool) bool {
	for c := range r.starting {
		if is(c) {
			return true
		}
	}
	for _, c := range r.started {
		if is(c) {
			return true
		}
	}
	return false
}
