package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// family is what descends from one child.
type family struct {
	*orphans
	leader int
	mark   string
	known  map[int]uint64 // pid and start of those who were seen below one of the family
	doubts int
}

// sweep reaps the orphans that are dead, whosever they were, kills those of the family and reports whether there were any, or may be.
func (f *family) sweep() (found, unsure bool) {
	// From here on who is our child, and neither born nor unborn, is an orphan, and its pid stays its own until we reap it.
	f.mu.Lock()
	defer f.mu.Unlock()
	us := os.Getpid()
	for _, pid := range childrenOf(us, us) {
		p, ok := look(pid)
		if f.born[pid] != nil || !ok || p.parent != us || p.session == f.session {
			continue
		}
		if p.dead && f.mayBeUnborn(p) {
			unsure = true
			continue
		}
		if p.dead {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			found = true // its children may be ours only now
			continue
		}
		mine, sure := f.has(p)
		unsure = unsure || !sure
		if mine {
			f.remember(pid, 0)
			_ = unix.Kill(pid, unix.SIGKILL)
			found = true
		}
	}
	return found, unsure
}

// remember notes what descends from a process, for it may hide its descent by the time that it is ours.
func (f *family) remember(pid, depth int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range threads {
		tid, _ := strconv.Atoi(t.Name())
		for _, child := range childrenOf(pid, tid) {
			if p, ok := look(child); ok && depth < 100 {
				f.known[child] = p.start
				f.remember(child, depth+1)
			}
		}
	}
}

// has reports whether an orphan is one of the family, or of a child that is gone.
func (f *family) has(p peek) (mine, sure bool) {
	if p.session == f.leader || f.known[p.pid] == p.start && p.start != 0 {
		return true, true
	}
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	ours := []byte(markVariable + strconv.Itoa(os.Getpid()) + ".")
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.HasPrefix(v, ours) {
			return string(v) == f.mark || !f.lives(string(v)), true
		}
	}
	if f.mayBeUnborn(p) {
		return false, false
	}
	// One that has emptied its environment is of a child that began before it did. If no other that lives did, it is ours.
	for pid, h := range f.born {
		if pid != f.leader && h.began <= p.start {
			return false, len(environ) > 0
		}
	}
	return true, true
}

// mayBeUnborn reports whether a process may be a child of which os/exec has not said yet that it was started.
func (f *family) mayBeUnborn(p peek) bool {
	for h := range f.unborn {
		if h.began <= p.start {
			return true
		}
	}
	return false
}

func (f *family) lives(mark string) bool {
	for h := range f.unborn {
		if h.mark == mark {
			return true
		}
	}
	for _, h := range f.born {
		if h.mark == mark {
			return true
		}
	}
	return false
}
