package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// markVariable is in the environment of our children and of what they start, unless that empties it.
const markVariable = "NANOBOT_CHILD="

// orphans are the processes whose parents, started by our children, have died: the kernel makes them children of ours. os/exec knows
// nothing of them, and must not: each is reaped by its own pid, and never one that os/exec has started.
type orphans struct {
	reaper  bool // we asked for them; else they come because we are the first process
	session int  // ours; no orphan of a child has it
	list    int  // the kernel's list of our children, held open; -1: there is none

	// starting is held for reading by who starts or reaps a child, so that who has it for writing sees no child that is in neither list.
	starting sync.RWMutex

	mu    sync.Mutex
	count int
	live  map[int]*kin // by pid
}

// kin is a child that os/exec has started.
type kin struct {
	mark  string
	began uint64 // in the kernel's ticks
}

// openOrphans returns nil if orphans are not ours.
func openOrphans(wanted bool) *orphans {
	o := &orphans{live: map[int]*kin{}}
	if os.Getpid() != 1 {
		if !wanted || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
			return nil
		}
		o.reaper = true
	}
	o.session, _ = unix.Getsid(0)
	var err error
	if o.list, err = unix.Open(fmt.Sprintf("/proc/%d/task/%[1]d/children", os.Getpid()), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		o.list = -1
	}
	return o
}

// close ends what is left, and leaves orphans to others again.
func (o *orphans) close() {
	if o == nil {
		return
	}
	o.end(0, &hold{})
	if o.list >= 0 {
		_ = unix.Close(o.list)
	}
	if o.reaper {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// mark names a child in its environment, so that what it starts can be told from what others start.
func (o *orphans) mark(cmd *exec.Cmd) string {
	if o == nil {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count++
	mark := fmt.Sprintf("%s%d.%d", markVariable, os.Getpid(), o.count)
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
	o.starting.RLock()
	defer o.starting.RUnlock()
	began := nowTicks()
	if err := cmd.Start(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live[cmd.Process.Pid] = &kin{mark: h.mark, began: began}
	return nil
}

func (o *orphans) reap(cmd *exec.Cmd, h *hold) {
	if o == nil {
		_ = cmd.Wait()
		return
	}
	o.starting.RLock()
	defer o.starting.RUnlock()
	_ = cmd.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if k := o.live[cmd.Process.Pid]; k != nil && k.mark == h.mark { // else the pid is another child's by now
		delete(o.live, cmd.Process.Pid)
	}
}

// doubts is how often one is looked at again of which nothing can be told, since who just executes a program has no environment for a moment.
const doubts = 20

// end kills and reaps what a child has left behind, which has exited and is not reaped.
func (o *orphans) end(leader int, h *hold) {
	if o == nil {
		return
	}
	f := family{orphans: o, leader: leader, mark: h.mark, known: map[int]uint64{}}
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
	pids := append(o.children(), o.children()...)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, pid := range pids {
		if o.live[pid] == nil {
			return true
		}
	}
	return false
}

// children is childrenOf us, at half the price: every child that ends asks for it.
func (o *orphans) children() []int {
	var buf [1024]byte
	n, err := unix.Pread(o.list, buf[:], 0)
	if us := os.Getpid(); err != nil || n > len(buf)/2 { // there may be more
		return childrenOf(us, us)
	}
	return numbers(buf[:n])
}

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
	f.starting.Lock() // from here on a child that is in neither list is an orphan, and its pid stays its own until we reap it
	defer f.starting.Unlock()
	us := os.Getpid()
	for _, pid := range childrenOf(us, us) {
		p, ok := look(pid)
		if f.live[pid] != nil || !ok || p.parent != us || p.session == f.session {
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
	// One that has emptied its environment is of a child that began before it did. If no other that lives did, it is ours.
	for pid, k := range f.live {
		if pid != f.leader && k.began <= p.start {
			return false, len(environ) > 0
		}
	}
	return true, true
}

func (f *family) lives(mark string) bool {
	for _, k := range f.live {
		if k.mark == mark {
			return true
		}
	}
	return false
}
