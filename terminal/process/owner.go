package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// ErrNoOwner says that the owner of a process cannot be determined.
var ErrNoOwner = errors.New("the owner of the process is unknown")

// KnowsOwners reports whether OwnerOf works, for which this program must be a subreaper.
func (s *Supervisor) KnowsOwners() bool { return s != nil && s.subreaper != nil }

// SetOwner names the chat that the child works for from now on, as Options.Owner does.
func (c *Child) SetOwner(owner string) {
	r := c.supervised.subreaper
	if r == nil { // nobody asks for owners
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.supervised.owner = owner
}

// OwnerOf returns the Options.Owner of the child that a process is or descends from, whatever
// session, parent, cgroup or environment the process has by now. descends is false if the process
// does not descend from this program. The error is ErrNoOwner if it does and the child cannot be
// determined. The caller must make sure that the PID is not reused meanwhile.
func (s *Supervisor) OwnerOf(pid int) (owner string, descends bool, err error) {
	if !s.KnowsOwners() {
		return "", false, ErrNoOwner
	}
	r := s.subreaper
	if owner, ok := r.ownerOfSession(pid); ok {
		if owner == "" {
			return "", true, ErrNoOwner
		}
		return owner, true, nil
	}
	for range maxOwnerAttempts {
		ancestry, descends, ok := readAncestry(pid)
		if ok && !descends {
			return "", false, nil
		}
		if ok {
			owner, known, sure := r.ownerByAncestry(ancestry)
			if known {
				return owner, true, nil
			}
			if sure {
				return "", true, ErrNoOwner
			}
		}
		time.Sleep(time.Millisecond)
	}
	return "", true, ErrNoOwner
}

const (
	// maxAncestors bounds the length of an ancestry.
	maxAncestors = 1000
	// maxOwnerAttempts bounds how often the ancestors of a process are read again because one of
	// them has died meanwhile, or because a child is being started that the process may descend
	// from.
	maxOwnerAttempts = 50
)

// ownerOfSession returns the owner of the child whose session a process is in. No process can join
// an existing session. getsid(2) also works for a process that is hidden in /proc.
func (r *subreaper) ownerOfSession(pid int) (owner string, ok bool) {
	session, err := unix.Getsid(pid)
	if err != nil || pid <= 0 {
		return "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.started[session]
	if !ok {
		return "", false
	}
	return c.owner, true
}

// readAncestry returns a process and its ancestors, up to the child of ours that it descends from.
// descends is false if there is no such child. ok is false if a process has died meanwhile.
func readAncestry(pid int) (ancestry []procfs.Stat, descends, ok bool) {
	us := os.Getpid()
	for range maxAncestors {
		p, found := procfs.ReadStat(pid)
		if !found {
			return nil, false, false
		}
		// A parent is older than its child. A younger process has reused the PID of a parent that
		// has died.
		if n := len(ancestry); n > 0 && p.Start > ancestry[n-1].Start {
			return nil, false, false
		}
		if ancestry = append(ancestry, p); p.Parent == us {
			return ancestry, true, true
		}
		if p.Parent <= 1 || pid == us { // init, or a process outside our PID namespace
			return nil, false, true
		}
		pid = p.Parent
	}
	return nil, false, false
}

// ownerByAncestry returns the owner of a process by its ancestry. sure is false if a child is being
// started that the process may descend from.
func (r *subreaper) ownerByAncestry(ancestry []procfs.Stat) (owner string, known, sure bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	top := ancestry[len(ancestry)-1]
	if c := r.started[top.Pid]; c != nil {
		return c.owner, c.owner != "", true
	}
	// It descends from a reparented process, which may be in the session of its child.
	for _, p := range ancestry {
		if c := r.started[p.Session]; c != nil {
			return c.owner, c.owner != "", true
		}
	}
	cgroup, err := r.cgroups.cgroupOf(top.Pid)
	if err != nil || r.mayBeStarting(top, cgroup) {
		return "", false, false
	}
	owners := map[string]bool{}
	for _, p := range ancestry {
		r.addKnownOwners(p.Pid, owners)
	}
	// Without cgroups only the environment is known, which another agent can copy: it counts if no
	// other child can have left the reparented process.
	if len(owners) == 0 || r.cgroups == nil {
		r.addPossibleOwners(top, owners)
	}
	for owner := range owners {
		known = len(owners) == 1 && owner != ""
		return owner, known, true
	}
	return "", false, true
}

// addKnownOwners adds the owners of the children whose cgroup a process is in, and the owners of
// the children whose mark is in its environment; "" for a child that is gone. A process that has
// entered the cgroup of another child, or copied its mark, then has two owners.
func (r *subreaper) addKnownOwners(pid int, owners map[string]bool) {
	if cgroup, err := r.cgroups.cgroupOf(pid); err != nil || cgroup != "" {
		owners[r.ownerOfChildWhere(func(c *supervisedChild) bool { return cgroup != "" && c.cgroup.path() == cgroup })] = true
	}
	ours := []byte(markVariable + strconv.Itoa(os.Getpid()) + ".")
	for v := range bytes.SplitSeq(procfs.Environ(pid), []byte{0}) {
		if bytes.HasPrefix(v, ours) {
			owners[r.ownerOfChildWhere(func(c *supervisedChild) bool { return c.mark == string(v) })] = true
		}
	}
}

// ownerOfChildWhere returns the owner of the child for which a condition holds, or "".
func (r *subreaper) ownerOfChildWhere(is func(*supervisedChild) bool) (owner string) {
	r.anyChild(func(c *supervisedChild) bool {
		if !is(c) {
			return false
		}
		owner = c.owner
		return true
	})
	return owner
}

// addPossibleOwners adds the owners of all children from which an unidentified reparented process
// may descend: children older than it, and ended children that may have left it.
func (r *subreaper) addPossibleOwners(reparented procfs.Stat, owners map[string]bool) {
	for owner := range r.unresolvedOwners {
		owners[owner] = true
	}
	r.anyChild(func(c *supervisedChild) bool {
		if c.startedAt <= reparented.Start {
			owners[c.owner] = true
		}
		return false
	})
}
