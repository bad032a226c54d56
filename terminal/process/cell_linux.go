package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// cell is the control group of one child at a time.
type cell struct {
	groups            *groups
	path              string
	dir, events, stat int // files; -1: none
	limited           bool
	before            time.Duration // of processor time, by children that had it earlier
	spent             atomic.Bool   // it was killed, and the kernel would kill who is started in it, or nothing could be started
}

// take returns an empty group for a child.
func (g *groups) take(o Options) (*cell, error) {
	if g == nil {
		return nil, errors.New("there is none")
	}
	if c := g.reuse(o); c != nil {
		return c, nil
	}
	c := &cell{groups: g, path: filepath.Join(g.base, g.next()), limited: o.limited(), dir: -1, events: -1, stat: -1}
	if err := os.Mkdir(c.path, 0o755); err != nil {
		return nil, err
	}
	for file, fd := range map[string]*int{"": &c.dir, "cgroup.events": &c.events, "cpu.stat": &c.stat} {
		var err error
		if *fd, err = unix.Open(filepath.Join(c.path, file), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			c.close()
			return nil, fmt.Errorf("open %s: %w", filepath.Join(c.path, file), err)
		}
	}
	if err := c.limit(o); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (g *groups) next() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made++
	return strconv.Itoa(g.made)
}

// reuse returns a group that had a child before. One with limits is made anew, since what it counts has to begin at nothing.
func (g *groups) reuse(o Options) *cell {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.limited() || len(g.idle) == 0 {
		return nil
	}
	last := len(g.idle) - 1
	c := g.idle[last]
	g.idle = g.idle[:last]
	return c
}

// limit bounds the group. Without swap the bound is what it says; a kernel may count none.
func (c *cell) limit(o Options) (err error) {
	if o.Memory > 0 {
		err = c.write("memory.max", strconv.FormatInt(o.Memory, 10))
		_ = c.write("memory.swap.max", "0")
		_ = c.write("memory.oom.group", "1")
	}
	if o.Processes > 0 {
		err = errors.Join(err, c.write("pids.max", strconv.Itoa(o.Processes)))
	}
	return err
}

func (c *cell) write(file, value string) error {
	f, err := os.OpenFile(filepath.Join(c.path, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// folder is where the group is; "": there is none.
func (c *cell) folder() string {
	if c == nil {
		return ""
	}
	return c.path
}

// enter makes a command start in the group.
func (c *cell) enter(cmd *exec.Cmd) {
	if c != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, c.dir
	}
}

// kill kills all that is in the group, and what is just being born there.
func (c *cell) kill() {
	if c != nil {
		c.spent.Store(true)
		_ = c.write("cgroup.kill", "1")
	}
}

// end kills all that is in the group and returns when it is dead. The child itself has exited.
func (c *cell) end() {
	if c == nil || says(c.events, "populated 0") {
		return
	}
	c.kill()
	_ = pollEmpty(c.events) // what does not die hangs in the kernel, and a group with it
}

// leave gives the group back, in which so much was used.
func (c *cell) leave(u Usage) {
	if c == nil {
		return
	}
	c.before += u.CPU
	g := c.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.limited || c.spent.Load() || !says(c.events, "populated 0", "frozen 0") || len(g.idle) >= maxIdle {
		c.close()
		return
	}
	g.idle = append(g.idle, c)
}

// waste gives a group back in which nothing could be started.
func (c *cell) waste() {
	c.spent.Store(true)
	c.leave(Usage{})
}

// close removes the group.
func (c *cell) close() {
	for _, fd := range []int{c.dir, c.events, c.stat} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	if unix.Rmdir(c.path) != nil {
		removeGroups(c.path) // a program that was killed in there had groups itself
	}
}

// used returns what was used in the group since its child was started.
func (c *cell) used() (u Usage) {
	if c == nil {
		return Usage{}
	}
	u.CPU = c.cpu() - c.before
	if c.limited {
		if b, err := os.ReadFile(filepath.Join(c.path, "memory.peak")); err == nil {
			u.Memory, _ = strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
		}
	}
	return u
}

// cpu returns the processor time of all that was ever in the group.
func (c *cell) cpu() time.Duration {
	var buf [512]byte
	n, err := unix.Pread(c.stat, buf[:], 0)
	if err != nil {
		return c.before
	}
	first, _, _ := bytes.Cut(buf[:n], []byte("\n"))
	used, ok := bytes.CutPrefix(first, []byte("usage_usec "))
	micros, err := strconv.ParseInt(string(used), 10, 64)
	if !ok || err != nil {
		return c.before
	}
	return time.Duration(micros) * time.Microsecond
}
