package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

const (
	// cgroupPrefix begins the names of our cgroups. selfCgroup is the cgroup that this process
	// moves to where the kernel requires it; no other program uses its name.
	cgroupPrefix = "nanobot-"
	selfCgroup   = "self.nanobot"
	// killTimeout is how long killed processes may take to die. One that takes longer hangs in the
	// kernel. A round of the wait counts at most as maxRound, because no process dies while the
	// machine stands still.
	killTimeout, maxRound = 2 * time.Second, 50 * time.Millisecond
)

// startKillTimeout returns a function that each round of a wait calls once. It reports whether
// killTimeout is over.
func startKillTimeout() (over func() bool) {
	left, began := killTimeout, time.Now()
	return func() bool {
		left -= min(time.Since(began), maxRound)
		began = time.Now()
		return left <= 0
	}
}

// cgroups is the pool of our children's cgroups (version 2): dir/1, dir/2 … nil: there are none.
type cgroups struct {
	parent, dir string   // dir is in parent, which we are in ourselves, or in its selfCgroup
	path        string   // of dir, as the kernel names it
	lock        *os.File // dir, locked until we exit

	maxIdle int // see SupervisorOptions.IdleCgroups

	mu          sync.Mutex
	created     int
	idle        []*cgroup
	controllers map[string]bool // whether each could be enabled
}

// openCgroups creates the pool's folder in our own cgroup, or returns why that is not possible.
func openCgroups(maxIdle int) (*cgroups, string) {
	if runtime.GOOS != "linux" {
		return nil, "this system has none"
	}
	path, parent, err := procfs.OwnCgroup()
	if err != nil {
		return nil, err.Error()
	}
	if filepath.Base(parent) == selfCgroup {
		parent, path = filepath.Dir(parent), filepath.Dir(path)
	}
	killStaleCgroups(parent)
	for range 10 {
		dir, err := os.MkdirTemp(parent, cgroupPrefix+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			return nil, err.Error()
		}
		lock := lockCgroup(dir)
		if lock == nil { // another program considered it stale
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
			lock.Close()
			_ = unix.Rmdir(dir)
			return nil, "this kernel has no cgroup.kill, which needs Linux 5.14"
		}
		p := &cgroups{
			parent: parent, dir: dir, path: filepath.Join(path, filepath.Base(dir)), lock: lock,
			controllers: map[string]bool{}, maxIdle: maxIdle,
		}
		if err := p.checkUsable(); err != nil {
			p.close()
			return nil, err.Error()
		}
		return p, ""
	}
	return nil, "could not lock a cgroup in " + parent
}

// checkUsable checks that clone into a cgroup works, by executing a program that does not exist:
// ENOENT shows that the clone was allowed. In some kernels a process that is started in a cgroup
// after cgroup.kill dies at once.
func (p *cgroups) checkUsable() error {
	c, err := p.acquire(Options{})
	if err != nil {
		return err
	}
	defer c.release(Usage{})
	l := &leader{path: filepath.Join(p.dir, "no such program"), attributes: childAttributes(Options{})}
	c.attach(l)
	if err = l.start(); err == nil {
		l.reap()
		return errors.New("processes started in a cgroup die at once")
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot start a process in a cgroup: %w", err)
	}
	return nil
}

// cgroupOf returns the folder of a process's cgroup; "": the cgroup is not of this pool.
func (p *cgroups) cgroupOf(pid int) (string, error) {
	if p == nil {
		return "", nil
	}
	path, err := procfs.Cgroup(pid)
	if err != nil {
		return "", err
	}
	within, ok := strings.CutPrefix(path, p.path+"/")
	if !ok {
		return "", nil
	}
	name, _, _ := strings.Cut(within, "/")
	return filepath.Join(p.dir, name), nil
}

// waitEmpty waits until a cgroup has no process, for at most killTimeout.
func waitEmpty(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, "cgroup.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("watch cgroup: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	return pollEmpty(fd)
}

// pollEmpty is waitEmpty for an open cgroup.events.
func pollEmpty(eventsFD int) error {
	for over := startKillTimeout(); !hasEvents(eventsFD, "populated 0"); {
		if over() {
			return os.ErrDeadlineExceeded
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(eventsFD), Events: unix.POLLPRI}}, int(maxRound/time.Millisecond))
	}
	return nil
}

// hasEvents reports whether cgroup.events has all of these lines. They also count nested cgroups.
func hasEvents(eventsFD int, lines ...string) bool {
	var buf [128]byte
	n, err := unix.Pread(eventsFD, buf[:], 0)
	for _, line := range lines {
		if err != nil || !bytes.Contains(buf[:n], []byte(line)) {
			return false
		}
	}
	return true
}

// removeCgroupTree removes a cgroup and its nested cgroups. All must be empty.
func removeCgroupTree(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeCgroupTree(filepath.Join(dir, e.Name()))
		}
	}
	_ = unix.Rmdir(dir)
}

// closeIdle removes the idle cgroups, and reports whether there were any.
func (p *cgroups) closeIdle() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.remove()
	}
	return len(idle) > 0
}

func (p *cgroups) close() {
	if p == nil {
		return
	}
	p.closeIdle()
	removeCgroupTree(p.dir)
	p.lock.Close()
}

// enableController enables a controller in the cgroups of our children, if permitted.
func (p *cgroups) enableController(name string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if on, asked := p.controllers[name]; asked {
		return on
	}
	on := delegate(p.parent, name) && delegate(p.dir, name)
	p.controllers[name] = on
	return on
}

// delegate enables a controller for the children of a cgroup.
func delegate(dir, controller string) bool {
	if !fileHasWord(filepath.Join(dir, "cgroup.controllers"), controller) {
		return false
	}
	control := filepath.Join(dir, "cgroup.subtree_control")
	if fileHasWord(control, controller) {
		return true
	}
	add := func() error { return os.WriteFile(control, []byte("+"+controller), 0) }
	err := add()
	if errors.Is(err, unix.EBUSY) && moveSelf(dir) {
		err = add()
	}
	return err == nil
}

// moveSelf moves this process from a cgroup into its selfCgroup, because a cgroup that has
// processes cannot delegate controllers. It does nothing if the cgroup has other processes.
func moveSelf(dir string) bool {
	us := strconv.Itoa(os.Getpid())
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil || strings.TrimSpace(string(b)) != us {
		return false
	}
	leaf := filepath.Join(dir, selfCgroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return false
	}
	return os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(us), 0) == nil
}

func fileHasWord(file, word string) bool {
	b, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for _, w := range strings.Fields(string(b)) {
		if w == word {
			return true
		}
	}
	return false
}

// lockCgroup locks a cgroup's folder until we exit. It returns nil if another process holds the
// lock or the cgroup is gone.
func lockCgroup(dir string) *os.File {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil
	}
	if _, err := os.Stat(dir); err != nil { // removed before it was locked
		f.Close()
		return nil
	}
	return f
}

// killStaleCgroups kills the processes in cgroups whose owner is dead, and removes these cgroups. A
// living owner holds the lock of its cgroup.
func killStaleCgroups(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	for _, dir := range dirs {
		lock := lockCgroup(dir)
		if lock == nil && !staleLock(dir) {
			continue
		}
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		_ = waitEmpty(dir)
		removeCgroupTree(dir)
		lock.Close()
	}
}

// staleLock reports whether a cgroup's lock does not show that its owner lives: a process in the
// cgroup took the lock when the owner died, or a child whose start hangs still has the dead owner's
// file. If the kernel does not name the process that holds the lock, the owner may be in another
// container.
func staleLock(dir string) bool {
	pid, ok := procfs.FlockPid(dir)
	if !ok || pid <= 0 {
		return false
	}
	if unix.Kill(pid, 0) == unix.ESRCH {
		return true
	}
	path, _ := procfs.Cgroup(pid)
	return strings.Contains(path, "/"+filepath.Base(dir)+"/")
}
