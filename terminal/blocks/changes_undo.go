package blocks

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"nanobot/internal/atomicfile"
	"nanobot/internal/modebits"
	"nanobot/internal/words"
)

var (
	errChangedSince = words.NewError(words.BlocksChangedSince)
	errInterrupted  = words.NewError(words.BlocksInterrupted)
)

// undoResult lists what undo has done.
type undoResult struct {
	restored, removed []string
	refused           []refusal
}

// refusal is a file that undo has not changed.
type refusal struct {
	path   string
	reason error
}

// undo restores the files that the session has changed or deleted, and removes those that it has
// created, with their folders if these are empty. A file that has changed since the session is
// refused. An interrupted undo can be repeated; files that are restored already are not reported
// again.
func (c *changes) undo() undoResult {
	var done undoResult
	l := c.workspace.newLookup()
	for i := range slices.Backward(c.list) { // backward, so that folders are empty when their first file is removed
		f := &c.list[i]
		changed, err := c.undoFile(l, *f)
		switch {
		case err != nil:
			done.refused = append(done.refused, refusal{f.File, err})
			continue
		case changed && f.Before == entryState{}:
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

// undoFile restores one file and reports whether that was necessary.
func (c *changes) undoFile(l *lookup, f change) (changed bool, err error) {
	now, err := c.state(l, f.File)
	switch {
	case err != nil:
		return false, err
	case now == f.Before:
		return false, nil
	case !f.Recorded:
		return false, errInterrupted
	case now != f.After:
		return false, errChangedSince
	case f.Before.Sum != "":
		return true, c.restoreFile(l, f)
	case f.Before.Link != "":
		return true, l.restoreLink(f)
	}
	e, err := l.openStoredParent(f.File)
	if err != nil {
		return false, err
	}
	defer e.close()
	return true, e.remove()
}

// restoreFile replaces the file by the saved copy.
func (c *changes) restoreFile(l *lookup, f change) error {
	from, saved, err := c.openCopy(f)
	if err != nil {
		return err
	}
	defer from.Close()
	e, err := l.openParentCreating(f.File)
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
		if old == nil || modebits.Owns(e.user, old) {
			if err := to.Chmod(f.Mode.Perm()); err != nil {
				return err
			}
		}
		if sum, err := copyAndHash(to, from); err != nil || sum != f.Before.Sum {
			return errors.Join(err, errCopyChanged)
		}
		return nil
	})
}

// restoreLink restores a symbolic link, in place of a file that may have its name now.
func (l *lookup) restoreLink(f change) error {
	e, err := l.openParentCreating(f.File)
	if err != nil {
		return err
	}
	defer e.close()
	old, err := e.folder.Lstat(e.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.checkChange(e.folder, old); err != nil {
		return err
	}
	temp := e.tempName()
	_ = e.folder.Remove(temp) // a crash may have left it
	if err := e.folder.Symlink(f.Before.Link, temp); err != nil {
		return err
	}
	err = l.chownLink(temp, e.folder)
	if err == nil {
		err = e.folder.Rename(temp, e.name)
	}
	if err != nil {
		_ = e.folder.Remove(temp)
	}
	return err
}

// removeFolders removes those folders that are empty.
func (l *lookup) removeFolders(folders []string) {
	for _, folder := range folders {
		e, err := l.openStoredParent(folder)
		if err != nil {
			continue
		}
		if info, err := e.folder.Lstat(e.name); err == nil && !l.isGatewayFile(info) && l.checkChange(e.folder, info) == nil {
			_ = e.folder.RemoveFolder(e.name)
		}
		e.close()
	}
}
