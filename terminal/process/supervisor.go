package process

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// Supervisor makes sure that no process which a child starts outlives the child, whatever session
// or process group that process moves to. It gives each child a cgroup where cgroups can be
// created, and makes this program a subreaper, because a process of our own user may leave its
// cgroup. A program has at most one Supervisor, which its children name in their Options.
type Supervisor struct {
	cgroups   *cgroups   // nil: none can be created
	subreaper *subreaper // nil: orphans go to another process
	noCgroups string     // why there are no cgroups
}

// SupervisorOptions says what a Supervisor may use.
type SupervisorOptions struct {
	// NoCgroups creates no cgroups, and NoSubreaper leaves orphans to others. The latter is for
	// programs that also start processes which are meant to outlive their parents.
	NoCgroups, NoSubreaper bool
}

// NewSupervisor returns the Supervisor of this program. It kills the processes in the cgroups of
// programs that died without closing their Supervisor.
func NewSupervisor(o SupervisorOptions) *Supervisor {
	s := &Supervisor{noCgroups: "they are not wanted"}
	if !o.NoCgroups {
		s.cgroups, s.noCgroups = openCgroups()
	}
	s.subreaper = openSubreaper(!o.NoSubreaper, s.cgroups)
	return s
}

// Close removes the cgroups and gives up being a subreaper. It must be called after the last
// child's Wait.
func (s *Supervisor) Close() {
	s.subreaper.close()
	s.cgroups.close()
}

// About says in words how the descendants of children are found.
func (s *Supervisor) About() string {
	switch {
	case s == nil:
		return "processes that leave the agent's group live on"
	case s.cgroups != nil:
		return "each agent has a control group of its own under " + s.cgroups.dir
	case s.subreaper != nil:
		return "no control groups (" + s.noCgroups + "): processes that leave the agent's group are found by their parents"
	}
	return "no control groups (" + s.noCgroups + "): processes that leave the agent's group live on"
}

// CanLimit reports whether Options.Memory and Options.Processes can be used. It enables the cgroup
// controllers for them, and so must be called before the first child is started.
func (s *Supervisor) CanLimit() (memory, processes bool) {
	if s == nil {
		return false, false
	}
	return s.cgroups.enableController("memory"), s.cgroups.enableController("pids")
}

// supervised is a child as its Supervisor knows it. A nil one has no Supervisor.
type supervised struct {
	supervisor *Supervisor
	cgroup     *cgroup // nil: it has none
	mark       string  // the variable in its environment
	owner      string  // Options.Owner
	startedAt  uint64  // in clock ticks since the boot
}

// start starts a command.
func (s *Supervisor) start(cmd *exec.Cmd, o Options) (*supervised, error) {
	if s == nil && o.limited() {
		return nil, errors.New("control group: there is none")
	}
	if s == nil {
		return nil, cmd.Start()
	}
	group, err := s.cgroups.acquire(o)
	// A temporary shortage is no reason to do without a cgroup, but a limit on their number
	// (EAGAIN) is.
	if errno, short := Shortage(err); err != nil && (o.limited() || short && errno != syscall.EAGAIN) {
		return nil, fmt.Errorf("control group: %w", err)
	}
	c := &supervised{supervisor: s, cgroup: group, owner: o.Owner}
	c.mark = s.subreaper.addMark(cmd)
	bare := *cmd
	c.cgroup.attach(cmd)
	err = s.subreaper.start(cmd, c)
	if _, short := Shortage(err); short {
		c.cgroup.release(Usage{})
		return nil, err
	}
	if err != nil && c.cgroup != nil {
		c.cgroup.discard()
		c.cgroup = nil
		if !o.limited() { // the kernel may forbid to start a process in a cgroup: then only the subreaper is left
			bare.SysProcAttr = attributes(o)
			*cmd = bare
			err = s.subreaper.start(cmd, c)
		}
	}
	return c, err
}

// killCgroup kills every process in the child's cgroup.
func (c *supervised) killCgroup() {
	if c != nil {
		c.cgroup.kill()
	}
}

// killDescendants kills the processes that the child has left. The child has exited and is not
// reaped.
func (c *supervised) killDescendants(leader int) {
	if c != nil {
		c.cgroup.killAndWait()
		c.supervisor.subreaper.killDescendants(leader, c)
	}
}

// findsAll reports whether killDescendants finds every process that the child has left.
func (c *supervised) findsAll() bool {
	return c != nil && (c.cgroup != nil || c.supervisor.subreaper != nil)
}

// leftNone reports whether the child, which has exited, has left no process in its cgroup. A
// process that has moved to another cgroup is not seen; killDescendants finds it. Without a cgroup
// it reports false.
func (c *supervised) leftNone() bool { return c != nil && c.cgroup.empty() }

// reap reaps the child.
func (c *supervised) reap(cmd *exec.Cmd) {
	if c == nil {
		_ = cmd.Wait() // the state says all that the error does
		return
	}
	c.supervisor.subreaper.reap(cmd, c)
}

// releaseCgroup gives the child's cgroup back, in which so much was used.
func (c *supervised) releaseCgroup(u Usage) {
	if c != nil {
		c.cgroup.release(u)
	}
}

// usage returns what was used in the child's cgroup.
func (c *supervised) usage() Usage {
	if c == nil {
		return Usage{}
	}
	return c.cgroup.usage()
}
