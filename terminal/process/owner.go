package process

import "errors"

// ErrNoOwner says that it cannot be told for whom a process works.
var ErrNoOwner = errors.New("it cannot be told whose process that is")

// KnowsOwners reports whether OwnerOf can tell anything: orphans of our children must be ours.
func (s *Supervisor) KnowsOwners() bool { return s != nil && s.subreaper != nil }

// OwnerOf returns for whom a process works: the Options.Owner of the child that it is or descends
// from, whatever session, parent, cgroup or environment it has by now. descends is false if the
// process does not descend from this program. The error is ErrNoOwner if it does, and the child
// cannot be told. Who asks has to see to it that the pid stays that of the process.
func (s *Supervisor) OwnerOf(pid int) (owner string, descends bool, err error) {
	if !s.KnowsOwners() {
		return "", false, ErrNoOwner
	}
	return s.subreaper.ownerOf(pid)
}
