package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// descendants finds the processes that one child has left among the orphans of the subreaper.
type descendants struct {
	*subreaper
	leader       int // the child's pid
	child        *supervised
	seen         map[int]uint64 // pid and start of the processes seen below a descendant, used without cgroups
	unsureSweeps int
	spares       bool // the last sweep has spared an orphan that may be another child's
}

// sweep reaps the dead orphans of all children and kills the descendants of this child. It reports
// whether it found any, and whether it is unsure of an orphan.
func (d *descendants) sweep() (found, unsure bool) {
	// While the lock is held, a child of ours that is neither started nor starting is an orphan,
	// and its pid stays its own until we reap it.
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spares = false
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
		mine, sure := d.includes(p, cgroup)
		unsure = unsure || !sure
		if mine {
			if d.cgroups == nil {
				d.recordBelow(pid, 0)
			}
			_ = unix.Kill(pid, unix.SIGKILL)
			found = true
		}
	}
	return found, unsure
}

// recordBelow records the processes below a descendant, because nothing may tell whose they are
// when they become orphans.
func (d *descendants) recordBelow(pid, depth int) {
	for _, thread := range procfs.Threads(pid) {
		for _, child := range procfs.Children(pid, thread) {
			if p, ok := procfs.ReadStat(child); ok && depth < 100 {
				d.seen[child] = p.Start
				d.recordBelow(child, depth+1)
			}
		}
	}
}

// includes reports whether an orphan descends from this child, or from a child that is gone. With
// cgroups the orphan's cgroup decides; an orphan that has left its cgroup must have the mark of
// another living child to be spared. Without cgroups, an orphan that has neither mark nor parent
// cannot be told from a descendant of an older living child.
func (d *descendants) includes(p procfs.Stat, cgroup string) (mine, sure bool) {
	if cgroup != "" {
		return cgroup == d.child.cgroup.path() || !d.anyChild(func(c *supervised) bool { return c.cgroup.path() == cgroup }), true
	}
	if p.Session == d.leader || d.seen[p.Pid] == p.Start && p.Start != 0 {
		return true, true
	}
	environ := procfs.Environ(p.Pid)
	ours := []byte(markVariable + strconv.Itoa(os.Getpid()) + ".")
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.HasPrefix(v, ours) {
			return string(v) == d.child.mark || !d.anyChild(func(c *supervised) bool { return string(v) == c.mark }), true
		}
	}
	if d.mayBeStarting(p, cgroup) {
		return false, false
	}
	// An orphan without a mark has emptied its environment. It descends from a child that started
	// before it did; if no other living child did, that is this one.
	for pid, c := range d.started {
		if pid != d.leader && c.cgroup == nil && c.startedAt <= p.Start {
			d.spares = true
			return false, len(environ) > 0
		}
	}
	sure = d.cgroups == nil || len(environ) > 0 || d.unsureSweeps >= maxUnsureSweeps
	return sure, sure
}

// mayBeStarting reports whether a process may be a child whose start os/exec has not finished.
func (d *descendants) mayBeStarting(p procfs.Stat, cgroup string) bool {
	for c := range d.starting {
		if c.startedAt <= p.Start && c.cgroup.path() == cgroup {
			return true
		}
	}
	return false
}

// anyChild reports whether a condition holds for any child that lives or is being started.
func (d *descendants) anyChild(is func(*supervised) bool) bool {
	for c := range d.starting {
		if is(c) {
			return true
		}
	}
	for _, c := range d.started {
		if is(c) {
			return true
		}
	}
	return false
}
