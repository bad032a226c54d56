package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

const (
	// groupPrefix begins the names of our control groups; ourGroup is the one that we go to
	// ourselves where the kernel wants it, and has a name that nobody else gives one.
	groupPrefix = "nanobot-"
	ourGroup    = "self.nanobot"
	// maxIdle is how many empty groups are kept for later children: to make one takes longer than
	// to use it again.
	maxIdle = 16
	// stubborn is how long processes may take to die that were killed. What takes longer hangs in
	// the kernel.
	stubborn = 2 * time.Second
)

// groups are the control groups (version 2) of our children: base/1, base/2 …
type groups struct {
	top, base string
	name      string   // base as the kernel calls it in what it tells of processes
	lock      *os.File // base, locked as long as we live

	mu    sync.Mutex
	made  int
	idle  []*cell
	ready map[string]bool // whether a controller is there
}

// openGroups makes a group below our own. Without one it says why.
func openGroups() (*groups, string) {
	name, top, err := procfs.OwnCgroup()
	if err != nil {
		return nil, err.Error()
	}
	if filepath.Base(top) == ourGroup {
		top, name = filepath.Dir(top), filepath.Dir(name)
	}
	killAbandoned(top)
	for range 10 {
		base, err := os.MkdirTemp(top, groupPrefix+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			return nil, err.Error()
		}
		lock := lockGroup(base)
		if lock == nil { // somebody took it for abandoned
			continue
		}
		if _, err := os.Stat(filepath.Join(base, "cgroup.kill")); err != nil {
			lock.Close()
			_ = unix.Rmdir(base)
			return nil, "this kernel cannot kill a group: it needs Linux 5.14"
		}
		g := &groups{top: top, base: base, name: filepath.Join(name, filepath.Base(base)), lock: lock, ready: map[string]bool{}}
		if err := g.try(); err != nil {
			g.close()
			return nil, err.Error()
		}
		return g, ""
	}
	return nil, "no group could be locked in " + top
}

// try starts a program that is not there: getting so far as to miss it shows that processes can be
// started in a group. One that was started into a group after a kill of ours dies at once in some
// kernels, and some do not let us.
func (g *groups) try() error {
	c, err := g.take(Options{})
	if err != nil {
		return err
	}
	defer c.leave(Usage{})
	cmd := &exec.Cmd{Path: filepath.Join(g.base, "no such program"), SysProcAttr: attributes(Options{})}
	c.enter(cmd)
	if err = cmd.Start(); err == nil {
		_ = cmd.Wait()
		return errors.New("what is started in one dies at once")
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("nothing can be started in one: %w", err)
	}
	return nil
}

// cellOf returns the folder of the cell that a process is in; "": it is in none.
func (g *groups) cellOf(pid int) (string, error) {
	if g == nil {
		return "", nil
	}
	path, err := procfs.Cgroup(pid)
	if err != nil {
		return "", err
	}
	within, ok := strings.CutPrefix(path, g.name+"/")
	if !ok {
		return "", nil
	}
	cell, _, _ := strings.Cut(within, "/")
	return filepath.Join(g.base, cell), nil
}

// awaitEmpty waits until a group has no process.
func awaitEmpty(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, "cgroup.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("ask control group: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	return pollEmpty(fd)
}

func pollEmpty(events int) error {
	for deadline := time.Now().Add(stubborn); ; {
		if says(events, "populated 0") {
			return nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(events), Events: unix.POLLPRI}}, int(left/time.Millisecond)+1)
	}
}

// says reports whether the events of a group have all of these lines. They tell of the groups
// within too.
func says(events int, lines ...string) bool {
	var buf [128]byte
	n, err := unix.Pread(events, buf[:], 0)
	for _, line := range lines {
		if err != nil || !bytes.Contains(buf[:n], []byte(line)) {
			return false
		}
	}
	return true
}

// removeGroups removes a group and those within, all empty.
func removeGroups(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(filepath.Join(dir, e.Name()))
		}
	}
	_ = unix.Rmdir(dir)
}

func (g *groups) close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.idle {
		c.close()
	}
	g.idle = nil
	removeGroups(g.base)
	g.lock.Close()
}

// enable makes a controller work in the groups of our children, if we may.
func (g *groups) enable(controller string) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if on, asked := g.ready[controller]; asked {
		return on
	}
	on := g.pass(g.top, controller) && g.pass(g.base, controller)
	g.ready[controller] = on
	return on
}

// pass hands a controller down from a group to those within.
func (g *groups) pass(dir, controller string) bool {
	if !hasWord(filepath.Join(dir, "cgroup.controllers"), controller) {
		return false
	}
	control := filepath.Join(dir, "cgroup.subtree_control")
	if hasWord(control, controller) {
		return true
	}
	add := func() error { return os.WriteFile(control, []byte("+"+controller), 0) }
	err := add()
	if errors.Is(err, unix.EBUSY) && g.stepAside(dir) {
		err = add()
	}
	return err == nil
}

// stepAside moves us into a group within ours, because one that has processes hands no controllers
// down. With others in it, it is not for us alone, and we stay.
func (g *groups) stepAside(dir string) bool {
	us := strconv.Itoa(os.Getpid())
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil || strings.TrimSpace(string(b)) != us {
		return false
	}
	aside := filepath.Join(dir, ourGroup)
	if err := os.Mkdir(aside, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return false
	}
	return os.WriteFile(filepath.Join(aside, "cgroup.procs"), []byte(us), 0) == nil
}

func hasWord(file, word string) bool {
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
