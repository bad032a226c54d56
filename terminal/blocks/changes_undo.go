package blocks

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"nanobot/internal/atomicfile"
)

var (
	errChangedSince = errors.New("something else has changed it since")
	errUnknownEnd   = errors.New("the command that changed it was interrupted")
)

// undone is what undo has done.
type undone struct {
	restored, removed []string
	refused           []refusal
}

// refusal is a file that undo has left as it is.
type refusal struct{ path, reason string }

// undo puts back the files that the session has changed or deleted, and removes those that it has
// created, with the folders made for them if they are empty. A file that is not as the session left
// it is refused. If undo is interrupted, it can be repeated; files that are as they were before the
// session are not reported again.
func (c *changes) undo() undone {
	var done undone
	l := c.w.newLookup()
	for i := range slices.Backward(c.list) { // folders are empty when their first file is removed
		f := &c.list[i]
		changed, err := c.undoFile(l, *f)
		switch {
		case err != nil:
			done.refused = append(done.refused, refusal{f.File, reason(err)})
			continue
		case changed && f.Before == state{}:
			done.removed = append(done.removed, f.File)
		case changed:
			done.restored = append(done.restored, f.File)
		}
		f.After, f.Recorded = f.Before, true
		l.removeFolders(f.Folders)
	}
	slices.Sort(done.restored)
	slices.Sort(done.removed)
	slices.SortFunc(done.refused, func(a, b refusal) int { return strings.Compare(a.path, b.path) })
	return done
}

// undoFile puts one file back and reports whether that was necessary.
func (c *changes) undoFile(l *lookup, f change) (changed bool, err error) {
	now, err := c.state(l, f.File)
	switch {
	case err != nil:
		return false, err
	case now == f.Before:
		return false, nil
	case !f.Recorded:
		return false, errUnknownEnd
	case now != f.After:
		return false, errChangedSince
	case f.Before.Sum != "":
		return true, c.restoreFile(l, f)
	case f.Before.Link != "":
		return true, l.restoreLink(f)
	}
	e, err := l.enterStored(f.File)
	if err != nil {
		return false, err
	}
	defer e.close()
	return true, e.remove()
}

// restoreFile puts the saved copy in the place of the file.
func (c *changes) restoreFile(l *lookup, f change) error {
	from, saved, err := c.openCopy(f)
	if err != nil {
		return err
	}
	defer from.Close()
	e, err := l.enterCreating(f.File)
	if err != nil {
		return err
	}
	defer e.close()
	return e.replace(func(to *os.File, old fs.FileInfo) error {
		if old == nil && e.user == nil {
			old = saved
		}
		if old != nil {
			if err := atomicfile.CopyAccess(to, old); err != nil {
				return err
			}
		}
		if old == nil || e.user.mayChmod(old) {
			if err := to.Chmod(f.Mode.Perm()); err != nil {
				return err
			}
		}
		if sum, err := sumOf(to, from); err != nil || sum != f.Before.Sum {
			return errors.Join(err, errCopy)
		}
		return nil
	})
}

// restoreLink puts a symbolic link back, in place of a file that may have its name now.
func (l *lookup) restoreLink(f change) error {
	e, err := l.enterCreating(f.File)
	if err != nil {
		return err
	}
	defer e.close()
	old, err := e.folder.Lstat(e.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.permitChange(e.folder, old); err != nil {
		return err
	}
	temp := e.tempName()
	_ = e.folder.Remove(temp) // a crash may have left it
	if err := e.folder.Symlink(f.Before.Link, temp); err != nil {
		return err
	}
	err = l.user.ownLink(temp, e.folder)
	if err == nil {
		err = e.folder.Rename(temp, e.name)
	}
	if err != nil {
		_ = e.folder.Remove(temp)
	}
	return err
}

// removeFolders removes folders that are empty. Those that are not stay.
func (l *lookup) removeFolders(folders []string) {
	for _, folder := range folders {
		e, err := l.enterStored(folder)
		if err != nil {
			continue
		}
		if info, err := e.folder.Lstat(e.name); err == nil && !l.isOwn(info) && l.permitChange(e.folder, info) == nil {
			_ = e.folder.RemoveFolder(e.name)
		}
		e.close()
	}
}
