package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// family is what descends from one child.
type family struct {
	*orphans
	leader int
	hold   *hold
	known  map[int]uint64 // pid and start of those who were seen below one of the family; it takes the place of groups
	doubts int
}

// sweep reaps the orphans that are dead, whosever they were, kills those of the family and reports
// whether there were any, or may be.
func (f *family) sweep() (found, unsure bool) {
	// From here on who is our child, and neither born nor unborn, is an orphan, and its pid stays
	// its own until we reap it.
	f.mu.Lock()
	defer f.mu.Unlock()
	us := os.Getpid()
	for _, pid := range procfs.Children(us, us) {
		p, ok := procfs.ReadStat(pid)
		if f.born[pid] != nil || !ok || p.Parent != us || p.Session == f.session {
			continue
		}
		cell, err := f.groups.cellOf(pid)
		if err != nil || p.Dead() && f.mayBeUnborn(p, cell) {
			unsure = true
			continue
		}
		if p.Dead() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			found = true // its children may be ours only now
			continue
		}
		mine, sure := f.has(p, cell)
		unsure = unsure || !sure
		if mine {
			if f.groups == nil {
				f.remember(pid, 0)
			}
			_ = unix.Kill(pid, unix.SIGKILL)
			found = true
		}
	}
	return found, unsure
}

// remember notes what descends from a process, for it may hide its descent by the time that it is
// ours.
func (f *family) remember(pid, depth int) {
	for _, thread := range procfs.Threads(pid) {
		for _, child := range procfs.Children(pid, thread) {
			if p, ok := procfs.ReadStat(child); ok && depth < 100 {
				f.known[child] = p.Start
				f.remember(child, depth+1)
			}
		}
	}
}

// has reports whether an orphan is one of the family, or of a child that is gone. Where there are
// groups, that is a matter of the cell that it is in, and who has left its own has to have the name
// of a child that lives. Without them it is a guess, which one who has no name and no parent can
// mislead while an older child lives.
func (f *family) has(p procfs.Stat, cell string) (mine, sure bool) {
	if cell != "" {
		return cell == f.hold.cell.folder() || !f.lives(func(h *hold) bool { return h.cell.folder() == cell }), true
	}
	if p.Session == f.leader || f.known[p.Pid] == p.Start && p.Start != 0 {
		return true, true
	}
	environ := procfs.Environ(p.Pid)
	ours := []byte(markVariable + strconv.Itoa(os.Getpid()) + ".")
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.HasPrefix(v, ours) {
			return string(v) == f.hold.mark || !f.lives(func(h *hold) bool { return string(v) == h.mark }), true
		}
	}
	if f.mayBeUnborn(p, cell) {
		return false, false
	}
	// One that has emptied its environment is of a child that began before it did. If no other that
	// lives did, it is ours.
	for pid, h := range f.born {
		if pid != f.leader && h.cell == nil && h.began <= p.Start {
			return false, len(environ) > 0
		}
	}
	sure = f.groups == nil || len(environ) > 0 || f.doubts >= doubts
	return sure, sure
}

// mayBeUnborn reports whether a process may be a child of which os/exec has not said yet that it
// was started.
func (f *family) mayBeUnborn(p procfs.Stat, cell string) bool {
	for h := range f.unborn {
		if h.began <= p.Start && h.cell.folder() == cell {
			return true
		}
	}
	return false
}

// lives reports whether there is such a child.
func (f *family) lives(is func(*hold) bool) bool {
	for h := range f.unborn {
		if is(h) {
			return true
		}
	}
	for _, h := range f.born {
		if is(h) {
			return true
		}
	}
	return false
}
