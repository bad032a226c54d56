package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is the cgroup of one child at a time. The methods of a nil *cgroup do nothing.
type cgroup struct {
	pool                    *cgroups
	dir                     string
	dirFD, eventsFD, statFD int // -1: not open
	limited                 bool
	earlierCPU              time.Duration // of earlier children in the cgroup
	unusable                atomic.Bool   // it was killed
}

// acquire returns an empty cgroup for a child.
func (p *cgroups) acquire(o Options) (*cgroup, error) {
	if p == nil {
		return nil, errors.New("no cgroups are available")
	}
	if c := p.reuse(o); c != nil {
		return c, nil
	}
	c := &cgroup{
		pool: p, dir: filepath.Join(p.dir, p.nextName()), limited: o.hasLimits(), dirFD: -1, eventsFD: -1,
		statFD: -1,
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, err
	}
	for file, fd := range map[string]*int{"": &c.dirFD, "cgroup.events": &c.eventsFD, "cpu.stat": &c.statFD} {
		var err error
		if *fd, err = unix.Open(filepath.Join(c.dir, file), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			c.remove()
			return nil, fmt.Errorf("open %s: %w", filepath.Join(c.dir, file), err)
		}
	}
	if err := c.setLimits(o); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

func (p *cgroups) nextName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.created++
	return strconv.Itoa(p.created)
}

// reuse returns a cgroup that had a child before. One with limits is never reused, because its
// counters must start at zero.
func (p *cgroups) reuse(o Options) *cgroup {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.hasLimits() || len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c
}

// setLimits bounds memory and processes. Swap would extend the memory limit and is forbidden; a
// kernel without swap accounting has no file for that.
func (c *cgroup) setLimits(o Options) (err error) {
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

func (c *cgroup) write(file, value string) error {
	f, err := os.OpenFile(filepath.Join(c.dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// path returns the folder of the cgroup; "" without one.
func (c *cgroup) path() string {
	if c == nil {
		return ""
	}
	return c.dir
}

// attach makes a child start in the cgroup.
func (c *cgroup) attach(l *leader) {
	if c != nil {
		l.setCgroup(c.dirFD)
	}
}

// kill kills every process in the cgroup, those included that are being forked.
func (c *cgroup) kill() {
	if c != nil {
		c.unusable.Store(true) // some kernels would kill what is started in it later, too
		_ = c.write("cgroup.kill", "1")
	}
}

// empty reports whether no process is left in the cgroup. Only killDescendants finds a process that
// has moved to another cgroup.
func (c *cgroup) empty() bool { return c != nil && hasEvents(c.eventsFD, "populated 0") }

// killAndWait kills every process in the cgroup and waits for their deaths. The child itself has
// exited.
func (c *cgroup) killAndWait() {
	if c == nil || c.empty() {
		return
	}
	c.kill()
	_ = pollEmpty(c.eventsFD) // a process that does not die hangs in the kernel; its cgroup stays
}

// release returns the cgroup to the pool. u is the usage of its last child.
func (c *cgroup) release(u Usage) {
	if c == nil {
		return
	}
	c.earlierCPU += u.CPU
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.limited || c.unusable.Load() || !hasEvents(c.eventsFD, "populated 0", "frozen 0") ||
		len(p.idle) >= p.maxIdle {
		c.remove()
		return
	}
	p.idle = append(p.idle, c)
}

// discard removes a cgroup into which clone failed.
func (c *cgroup) discard() {
	if c != nil {
		c.remove()
	}
}

func (c *cgroup) remove() {
	for _, fd := range []int{c.dirFD, c.eventsFD, c.statFD} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	if unix.Rmdir(c.dir) != nil {
		removeCgroupTree(c.dir) // a program that was killed in the cgroup had created others within
	}
}

// usage returns what was used in the cgroup since its child was started.
func (c *cgroup) usage() (u Usage) {
	if c == nil {
		return Usage{}
	}
	u.CPU = c.totalCPU() - c.earlierCPU
	if c.limited {
		if b, err := os.ReadFile(filepath.Join(c.dir, "memory.peak")); err == nil {
			u.Memory, _ = strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
		}
	}
	return u
}

// totalCPU returns the processor time of all processes that were ever in the cgroup.
func (c *cgroup) totalCPU() time.Duration {
	var buf [512]byte
	n, err := unix.Pread(c.statFD, buf[:], 0)
	if err != nil {
		return c.earlierCPU
	}
	first, _, _ := bytes.Cut(buf[:n], []byte("\n"))
	used, ok := bytes.CutPrefix(first, []byte("usage_usec "))
	micros, err := strconv.ParseInt(string(used), 10, 64)
	if !ok || err != nil {
		return c.earlierCPU
	}
	return time.Duration(micros) * time.Microsecond
}
