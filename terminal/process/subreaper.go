package process

import (
	"crypto/rand"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// markVariable is the environment variable that identifies a child. Descendants inherit it unless
// they clear their environment.
const markVariable = "NANOBOT_CHILD="

// maxUnsureSweeps bounds how often a process that cannot be identified is examined again: during
// execve a process has no environment for a moment.
const maxUnsureSweeps = 20

// subreaper makes the kernel reparent to this process all descendants whose parent has died. Each
// of these processes is reaped by its own PID, and never the leader of a child. A nil subreaper
// has no reparented processes.
type subreaper struct {
	cgroups  *cgroups // nil: there are none
	set      bool     // we have set the attribute; otherwise our PID is 1
	session  int      // ours; no descendant of a child has it
	children *procfs.OwnChildren

	mu sync.Mutex
	// started are the children whose leader was started, by PID. starting are those that have not
	// executed their program yet and whose PID is not known; a hung file system may keep them
	// there.
	started  map[int]*supervisedChild
	starting map[*supervisedChild]bool
	// unresolvedOwners are the owners of ended children that may have left a process which could
	// not be identified.
	unresolvedOwners map[string]bool
}

// openSubreaper returns nil if descendants whose parent has died are reparented to another process.
func openSubreaper(wanted bool, cgroups *cgroups) *subreaper {
	r := &subreaper{
		cgroups: cgroups, started: map[int]*supervisedChild{}, starting: map[*supervisedChild]bool{},
		unresolvedOwners: map[string]bool{},
	}
	if os.Getpid() != 1 {
		if !wanted || !setSubreaper(true) {
			return nil
		}
		r.set = true
	}
	r.session, _ = unix.Getsid(0)
	r.children = procfs.OpenOwnChildren()
	return r
}

// close kills the remaining reparented processes and clears the attribute.
func (r *subreaper) close() {
	if r == nil {
		return
	}
	r.killDescendants(0, &supervisedChild{})
	r.children.Close()
	if r.set {
		setSubreaper(false)
	}
}

// addMark adds the variable that identifies the child to its environment.
func (r *subreaper) addMark(l *leader) string {
	if r == nil {
		return ""
	}
	// random, so that no process can guess the mark of another child
	mark := markVariable + strconv.Itoa(os.Getpid()) + "." + rand.Text()
	l.env = append(l.env[:len(l.env):len(l.env)], mark)
	return mark
}

func (r *subreaper) start(l *leader, c *supervisedChild) error {
	if r == nil {
		return l.start()
	}
	c.startedAt = procfs.TicksSinceBoot()
	r.mu.Lock()
	r.starting[c] = true
	r.mu.Unlock()
	err := l.start()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.starting, c)
	if err == nil {
		r.started[l.pid] = c
	}
	return err
}

func (r *subreaper) reap(l *leader, c *supervisedChild) {
	l.reap()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started[l.pid] == c { // otherwise the PID was reused by another child
		delete(r.started, l.pid)
	}
}

// killDescendants kills and reaps the descendants of a child, which has exited and is not reaped.
func (r *subreaper) killDescendants(leader int, c *supervisedChild) {
	if r == nil {
		return
	}
	d := descendants{subreaper: r, leader: leader, child: c, seen: map[int]uint64{}}
	for over := startKillTimeout(); r.mayHaveReparented(); {
		found, unsure := d.killSweep()
		if unsure {
			d.unsureSweeps++
		}
		if !found && (!unsure || d.unsureSweeps > maxUnsureSweeps) || over() {
			if unsure || d.sparedProcess {
				r.recordUnresolved(c.owner)
			}
			return
		}
		time.Sleep(time.Millisecond) // the children of a killed process are reparented when it is dead
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.unresolvedOwners) // no reparented process is left
}

// recordUnresolved records that a child of an owner may have left a process.
func (r *subreaper) recordUnresolved(owner string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unresolvedOwners[owner] = true
}

// mayHaveReparented reports whether we have child processes that may not be leaders. It is
// called at the end of every child.
func (r *subreaper) mayHaveReparented() bool {
	// The list is read twice, because it may miss a child while others are reaped.
	for range 2 {
		pids := r.children.Pids()
		r.mu.Lock()
		other := slices.ContainsFunc(pids, func(pid int) bool { return r.started[pid] == nil })
		r.mu.Unlock()
		if other {
			return true
		}
	}
	return false
}
