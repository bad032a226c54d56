package process

import (
	"cmp"
	"fmt"
	"syscall"
)

// Supervisor makes sure that no descendant outlives its child, whatever session or process group it
// moves to. It gives each child a cgroup where cgroups can be created, and makes this program a
// subreaper, because a process of our own user may leave its cgroup. A program has at most one
// Supervisor, which is set in the Options of its children.
type Supervisor struct {
	cgroups   *cgroups   // nil: none can be created
	subreaper *subreaper // nil: descendants are reparented to another process
	noCgroups string     // why there are no cgroups
}

// SupervisorOptions configures a Supervisor.
type SupervisorOptions struct {
	// NoCgroups creates no cgroups, and NoSubreaper does not set the subreaper attribute. The
	// latter is for programs that also start daemons, which must outlive their parents.
	NoCgroups, NoSubreaper bool
	// IdleCgroups is how many empty cgroups are kept for later children: creating a cgroup takes
	// longer than reusing one. 0: 16.
	IdleCgroups int
}

// NewSupervisor returns the Supervisor of this program. It kills the processes in the cgroups of
// programs that died without closing their Supervisor.
func NewSupervisor(o SupervisorOptions) *Supervisor {
	s := &Supervisor{noCgroups: "switched off"}
	if !o.NoCgroups {
		s.cgroups, s.noCgroups = openCgroups(cmp.Or(o.IdleCgroups, 16))
	}
	s.subreaper = openSubreaper(!o.NoSubreaper, s.cgroups)
	return s
}

// Close removes the cgroups and clears the subreaper attribute. It must be called after Wait of the
// last child.
func (s *Supervisor) Close() {
	s.subreaper.close()
	s.cgroups.close()
}

// Describe returns a sentence about how descendants of children are found, for doctor and the log.
func (s *Supervisor) Describe() string {
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

// CanLimit reports whether Options.Memory and Options.Processes are supported. It enables their
// cgroup controllers, and so must be called before the first child is started.
func (s *Supervisor) CanLimit() (memory, processes bool) {
	if s == nil {
		return false, false
	}
	return s.cgroups.enableController("memory"), s.cgroups.enableController("pids")
}

// supervisedChild is the Supervisor's record of a child.
type supervisedChild struct {
	cgroup    *cgroup    // nil: it has none
	subreaper *subreaper // the Supervisor's
	mark      string     // the variable in its environment
	owner     string     // Options.Owner
	startedAt uint64     // in clock ticks since boot
}

// start starts a child in a cgroup, or without one where that is not possible.
func (s *Supervisor) start(l *leader, o Options) (*supervisedChild, error) {
	if s == nil {
		s = &Supervisor{}
	}
	group, err := s.cgroups.acquire(o)
	// A temporary shortage is reported, but a limit on the number of cgroups (EAGAIN) is a
	// reason to start without one.
	if errno, short := Shortage(err); err != nil && (o.hasLimits() || short && errno != syscall.EAGAIN) {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	c := &supervisedChild{cgroup: group, subreaper: s.subreaper, owner: o.Owner}
	c.mark = s.subreaper.addMark(l)
	c.cgroup.attach(l)
	err = s.subreaper.start(l, c)
	if _, short := Shortage(err); short {
		c.cgroup.discard() // its descriptors may be what is missing
		return nil, err
	}
	if err != nil && c.cgroup != nil {
		c.cgroup.discard()
		c.cgroup = nil
		if !o.hasLimits() { // the kernel may forbid clone into a cgroup: the subreaper still finds descendants
			l.attributes = childAttributes(o)
			err = s.subreaper.start(l, c)
		}
	}
	return c, err
}

// closeIdleCgroups closes the cgroups that are kept for later children, with three descriptors
// each, and reports whether there were any.
func (s *Supervisor) closeIdleCgroups() bool { return s != nil && s.cgroups.closeIdle() }

// killDescendants kills the descendants of the child, which has exited and is not reaped.
func (c *supervisedChild) killDescendants(leader int) {
	c.cgroup.killAndWait()
	c.subreaper.killDescendants(leader, c)
}

// findsAllDescendants reports whether killDescendants finds every descendant.
func (c *supervisedChild) findsAllDescendants() bool {
	return c.cgroup != nil || c.subreaper != nil
}
