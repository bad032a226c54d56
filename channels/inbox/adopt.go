package inbox

import (
	"crypto/rand"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Adopt gives a file that is elsewhere on this disk a name in the folder, as Save would. It fails where files cannot be linked.
func (f *Folder) Adopt(name, from string) (path string, err error) {
	part := unfinished + rand.Text()
	if err := f.link(from, part); err != nil {
		return "", err
	}
	defer f.root.Remove(part) //nolint:errcheck // it has another name by then, or nobody needs it
	return f.publish(part, name)
}

func (f *Folder) link(from, to string) error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	err = unix.Linkat(unix.AT_FDCWD, from, int(dir.Fd()), to, 0)
	if err != nil {
		err = &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	return errors.Join(err, dir.Close())
}
