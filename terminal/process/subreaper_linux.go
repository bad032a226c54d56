package process

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// markVariable begins the environment variable that names a child. What the child starts inherits
// it, unless it clears its environment.
const markVariable = "NANOBOT_CHILD="

// maxUnsureSweeps bounds how often an orphan is looked at again that cannot be identified: a
// process that is executing a program has no environment for a moment.
const maxUnsureSweeps = 20

// subreaper makes the kernel give us the orphans: processes that our children have started and
// whose parents have died. os/exec does not know them: each is reaped by its own pid, and never a
// process that os/exec has started. A nil one has no orphans.
type subreaper struct {
	cgroups  *cgroups // nil: there are none
	set      bool     // we set the attribute; else we have the orphans because our pid is 1
	session  int      // ours; no orphan of a child has it
	children *procfs.OwnChildren

	mu sync.Mutex
	// started are the children that os/exec has started, by pid. starting are those whose program
	// does not run yet, and whose pid is not known; a hung file system may keep them there for
	// ever.
	started  map[int]*supervised
	starting map[*supervised]bool
	// spared are the owners of children that have ended while there was an orphan that could not be
	// told from one of theirs.
	spared map[string]bool
}

// openSubreaper returns nil if orphans go to another process.
func openSubreaper(wanted bool, cgroups *cgroups) *subreaper {
	r := &subreaper{cgroups: cgroups, started: map[int]*supervised{}, starting: map[*supervised]bool{}, spared: map[string]bool{}}
	if os.Getpid() != 1 {
		if !wanted || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
			return nil
		}
		r.set = true
	}
	r.session, _ = unix.Getsid(0)
	r.children = procfs.OpenOwnChildren()
	return r
}

// close kills the orphans that are left, and leaves later ones to others.
func (r *subreaper) close() {
	if r == nil {
		return
	}
	r.killDescendants(0, &supervised{})
	r.children.Close()
	if r.set {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// addMark adds the variable that names the child to its environment, so that its descendants can be
// told from those of others.
func (r *subreaper) addMark(cmd *exec.Cmd) string {
	if r == nil {
		return ""
	}
	mark := fmt.Sprintf("%s%d.%s", markVariable, os.Getpid(), rand.Text()) // random, so that no process can claim to be another child's
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], mark)
	return mark
}

func (r *subreaper) start(cmd *exec.Cmd, c *supervised) error {
	if r == nil {
		return cmd.Start()
	}
	c.startedAt = procfs.NowTicks()
	r.mu.Lock()
	r.starting[c] = true
	r.mu.Unlock()
	err := cmd.Start()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.starting, c)
	if err == nil {
		r.started[cmd.Process.Pid] = c
	}
	return err
}

func (r *subreaper) reap(cmd *exec.Cmd, c *supervised) {
	_ = cmd.Wait() // the state says all that the error does
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started[cmd.Process.Pid] == c { // else the pid is another child's by now
		delete(r.started, cmd.Process.Pid)
	}
}

// killDescendants kills and reaps the processes that a child has left. The child has exited and is
// not reaped.
func (r *subreaper) killDescendants(leader int, c *supervised) {
	if r == nil {
		return
	}
	d := descendants{subreaper: r, leader: leader, child: c, seen: map[int]uint64{}}
	for deadline := time.Now().Add(killTimeout); r.mayHaveOrphans(); {
		found, unsure := d.sweep()
		if unsure {
			d.unsureSweeps++
		}
		if !found && (!unsure || d.unsureSweeps > maxUnsureSweeps) || time.Now().After(deadline) {
			if unsure || d.spares {
				r.spare(c.owner)
			}
			return
		}
		time.Sleep(time.Millisecond) // the children of a killed process are ours once it is dead
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.spared) // there is no orphan
}

// spare records that a child of an owner may have left an orphan.
func (r *subreaper) spare(owner string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spared[owner] = true
}

// mayHaveOrphans reports whether we have children that os/exec may not have started. It is called
// at the end of every child.
func (r *subreaper) mayHaveOrphans() bool {
	// The list is read twice, because it may miss a child while others are reaped.
	pids := append(r.children.Pids(), r.children.Pids()...)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range pids {
		if r.started[pid] == nil {
			return true
		}
	}
	return false
}
