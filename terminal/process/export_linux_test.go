package process

import "golang.org/x/sys/unix"

// FindGroup is findGroup, for files that this machine does not have.
var FindGroup = findGroup

// Enable asks for any controller.
func (c *Cage) Enable(controller string) bool { return c.groups.enable(controller) }

// Counts reports whether memory comes to be counted in groups in these folders.
func Counts(top, base string) bool {
	g := &groups{top: top, base: base, ready: map[string]bool{}}
	g.count()
	return g.ready["memory"]
}

// Forgets reports whether a group whose peak of memory is in this file can be used again.
func Forgets(file string, flags int) bool {
	fd, err := unix.Open(file, flags, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return (&cell{peak: fd}).forget()
}
