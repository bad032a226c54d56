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

// markVariable is in the environment of our children and of what they start, unless that empties
// it.
const markVariable = "NANOBOT_CHILD="

// orphans are the processes whose parents, started by our children, have died: the kernel makes
// them children of ours. os/exec knows nothing of them, and must not: each is reaped by its own
// pid, and never one that os/exec has started.
type orphans struct {
	groups   *groups // nil: there are none
	reaper   bool    // we asked for them; else they come because we are the first process
	session  int     // ours; no orphan of a child has it
	children *procfs.OwnChildren

	mu sync.Mutex
	// born are the children that os/exec has started, by pid. Those that it is starting are in
	// neither list until their programs run, which a hung file system may put off for ever.
	born   map[int]*hold
	unborn map[*hold]bool
}

// openOrphans returns nil if orphans are not ours.
func openOrphans(wanted bool, g *groups) *orphans {
	o := &orphans{groups: g, born: map[int]*hold{}, unborn: map[*hold]bool{}}
	if os.Getpid() != 1 {
		if !wanted || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
			return nil
		}
		o.reaper = true
	}
	o.session, _ = unix.Getsid(0)
	o.children = procfs.OpenOwnChildren()
	return o
}

// close ends what is left, and leaves orphans to others again.
func (o *orphans) close() {
	if o == nil {
		return
	}
	o.end(0, &hold{})
	o.children.Close()
	if o.reaper {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// mark names a child in its environment, so that what it starts can be told from what others start.
func (o *orphans) mark(cmd *exec.Cmd) string {
	if o == nil {
		return ""
	}
	mark := fmt.Sprintf("%s%d.%s", markVariable, os.Getpid(), rand.Text()) // a child that lives is not for others to guess
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], mark)
	return mark
}

func (o *orphans) start(cmd *exec.Cmd, h *hold) error {
	if o == nil {
		return cmd.Start()
	}
	h.began = procfs.NowTicks()
	o.mu.Lock()
	o.unborn[h] = true
	o.mu.Unlock()
	err := cmd.Start()
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.unborn, h)
	if err == nil {
		o.born[cmd.Process.Pid] = h
	}
	return err
}

func (o *orphans) reap(cmd *exec.Cmd, h *hold) {
	_ = cmd.Wait() // the state says all that the error does
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.born[cmd.Process.Pid] == h { // else the pid is another child's by now
		delete(o.born, cmd.Process.Pid)
	}
}

// doubts is how often one is looked at again of which nothing can be told, since who just executes
// a program has no environment for a moment.
const doubts = 20

// end kills and reaps what a child has left behind, which has exited and is not reaped.
func (o *orphans) end(leader int, h *hold) {
	if o == nil {
		return
	}
	f := family{orphans: o, leader: leader, hold: h, known: map[int]uint64{}}
	for deadline := time.Now().Add(stubborn); o.strangers(); {
		found, unsure := f.sweep()
		if unsure {
			f.doubts++
		}
		if !found && (!unsure || f.doubts > doubts) || time.Now().After(deadline) {
			return
		}
		time.Sleep(time.Millisecond) // a parent's death comes first, and only then are its children ours
	}
}

// strangers reports whether we have children that os/exec may not have started.
func (o *orphans) strangers() bool {
	// Asked twice, because the list may miss one while others are reaped.
	pids := append(o.children.Pids(), o.children.Pids()...)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, pid := range pids {
		if o.born[pid] == nil {
			return true
		}
	}
	return false
}
