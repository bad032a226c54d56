package process

import "errors"

// ErrNoOwner says that the owner of a process cannot be determined.
var ErrNoOwner = errors.New("the owner of the process is unknown")

// KnowsOwners reports whether OwnerOf works, for which this program must be a subreaper.
func (s *Supervisor) KnowsOwners() bool { return s != nil && s.subreaper != nil }

// SetOwner names the chat that the child works for from now on, as Options.Owner does.
func (c *Child) SetOwner(owner string) {
	if c.supervised != nil {
		c.supervised.supervisor.subreaper.setOwner(c.supervised, owner)
	}
}

// OwnerOf returns the Options.Owner of the child that a process is or descends from, whatever
// session, parent, cgroup or environment the process has by now. descends is false if the process
// does not descend from this program. The error is ErrNoOwner if it does and the child cannot be
// determined. The caller must make sure that the PID is not reused meanwhile.
func (s *Supervisor) OwnerOf(pid int) (owner string, descends bool, err error) {
	if !s.KnowsOwners() {
		return "", false, ErrNoOwner
	}
	return s.subreaper.ownerOf(pid)
}
