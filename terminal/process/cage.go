package process

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Cage makes sure that nothing a child starts outlives it, whatever session or group it goes to: by a control group for each child
// where they can be made, and by inheriting the orphans, for a process of our own user may leave its group. A program has at most one,
// and its children name it in their Options.
type Cage struct {
	groups  *groups  // nil: none can be made
	orphans *orphans // nil: they are somebody else's
	why     string   // there are no groups
}

// CageOptions says what a cage may use.
type CageOptions struct {
	// NoGroups does without control groups, NoOrphans without inheriting orphans. The latter is for programs that start other things than
	// children in the cage, which these leave behind on purpose.
	NoGroups, NoOrphans bool
}

// NewCage makes the cage, and kills what is left in the control groups of programs that died without closing theirs.
func NewCage(o CageOptions) *Cage {
	c := &Cage{why: "they are not wanted"}
	if !o.NoGroups {
		c.groups, c.why = openGroups()
	}
	c.orphans = openOrphans(!o.NoOrphans, c.groups)
	return c
}

// Close gives back what the cage holds, once no child is left.
func (c *Cage) Close() {
	c.orphans.close()
	c.groups.close()
}

// About says in words how children are held together.
func (c *Cage) About() string {
	switch {
	case c == nil:
		return "processes that leave the agent's group live on"
	case c.groups != nil:
		return "each agent has a control group of its own under " + c.groups.base
	case c.orphans != nil:
		return "no control groups (" + c.why + "): processes that leave the agent's group are found by their parents"
	}
	return "no control groups (" + c.why + "): processes that leave the agent's group live on"
}

// Can reports whether the memory, or the number of processes, of a child and all that it starts can be bounded. It prepares that, and so
// is to be asked before the first child starts.
func (c *Cage) Can() (memory, processes bool) {
	if c == nil {
		return false, false
	}
	return c.groups.enable("memory"), c.groups.enable("pids")
}

// hold is what holds one child.
type hold struct {
	cage  *Cage
	cell  *cell // nil: none
	mark  string
	began uint64 // in the kernel's ticks
}

// start starts a command within the cage.
func (c *Cage) start(cmd *exec.Cmd, o Options) (*hold, error) {
	if c == nil && o.limited() {
		return nil, errors.New("control group: there is none")
	}
	if c == nil {
		return nil, cmd.Start()
	}
	cell, err := c.groups.take(o)
	// What lacks at the moment is no reason to do without a group, but that there may be no more groups (EAGAIN) is.
	if errno, short := Shortage(err); err != nil && (o.limited() || short && errno != syscall.EAGAIN) {
		return nil, fmt.Errorf("control group: %w", err)
	}
	h := &hold{cage: c, cell: cell}
	h.mark = c.orphans.mark(cmd)
	bare := *cmd
	h.cell.enter(cmd)
	err = c.orphans.start(cmd, h)
	if _, short := Shortage(err); short {
		h.cell.leave(Usage{})
		return nil, err
	}
	if err != nil && h.cell != nil {
		h.cell.waste()
		h.cell = nil
		if !o.limited() { // perhaps the kernel does not let us, in which case the orphans are all that we have
			bare.SysProcAttr = attributes(o)
			*cmd = bare
			err = c.orphans.start(cmd, h)
		}
	}
	return h, err
}

// kill kills all that is in the child's control group.
func (h *hold) kill() {
	if h != nil {
		h.cell.kill()
	}
}

// end kills what the child has left, before it is reaped itself.
func (h *hold) end(leader int) {
	if h != nil {
		h.cell.end()
		h.cage.orphans.end(leader, h)
	}
}

// whole reports whether end finds every process that the child has left.
func (h *hold) whole() bool { return h != nil && (h.cell != nil || h.cage.orphans != nil) }

// reap reaps the child and lets go of what held it.
func (h *hold) reap(cmd *exec.Cmd) {
	if h == nil {
		_ = cmd.Wait() // the state says all that the error does
		return
	}
	h.cage.orphans.reap(cmd, h)
}

func (h *hold) leave(u Usage) {
	if h != nil {
		h.cell.leave(u)
	}
}

// used returns what the control group says that was used.
func (h *hold) used() Usage {
	if h == nil {
		return Usage{}
	}
	return h.cell.used()
}

// Usage is what a child and what it has started have used.
type Usage struct {
	CPU time.Duration
	// Memory is the peak in bytes: of all together where control groups count it, else of the largest process that was waited for. 0: not known, or
	// less than our own peak, from which it could not be told.
	Memory int64
}

func (u Usage) or(other Usage) Usage {
	return Usage{CPU: max(u.CPU, other.CPU), Memory: max(u.Memory, other.Memory)}
}
