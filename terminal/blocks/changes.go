package blocks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"nanobot/internal/modebits"
)

// change is one file that the commands of a session have touched, as the session file keeps it.
type change struct {
	Path string `json:"path"` // as the command named it, cleaned
	File string `json:"file"` // relative to the workspace, without links
	// Before is the state before the session, After the one that its last command left.
	Before state `json:"before"`
	After  state `json:"after"`
	// Recorded says that After is known: no command was interrupted.
	Recorded bool        `json:"recorded,omitempty"`
	Copy     string      `json:"copy,omitempty"` // the saved copy's name, if Before is a file
	Mode     fs.FileMode `json:"mode,omitempty"` // of the file before
	// Folders are the parent folders that did not exist before, from the inside out.
	Folders []string `json:"folders,omitempty"`
}

// state describes a directory entry: a regular file, a symbolic link, or nothing.
type state struct {
	Sum  string `json:"sum,omitempty"`  // SHA-256 of the file's content
	Link string `json:"link,omitempty"` // the link's target
}

// matters reports whether the file may be another than before the session.
func (c change) matters() bool { return !c.Recorded || c.Before != c.After }

// changes are the files that a session has touched, each with a copy of what it was before. A file
// with several paths is one change; a symbolic link and its file are two, since DELETE_FILE removes
// the link.
type changes struct {
	list   []change
	copies *os.Root // the session's folder for saved copies
	w      *workspace
}

// maxSaved is how many bytes a file may have that is copied.
const maxSaved = 64 << 20

// errNotSaved refuses to touch a file that could not be put back.
var errNotSaved = fmt.Errorf("it has more than %d MiB, too much to be kept for /undo", maxSaved>>20)

// save is called before a command touches a file, and copies the file unless the session has
// touched it before. An error means that the command must not be executed: the file could not be
// put back. A path at which the command will fail anyway is no error, unless it is refused.
func (c *changes) save(path string) error {
	l := c.w.newLookup()
	at, err := l.resolve(path)
	switch {
	case errors.Is(err, errOutside):
		return err
	case err != nil || at.folder:
		return nil //nolint:nilerr // the command meets the same error
	}
	if at.named != at.real {
		if err := c.saveLink(l, filepath.Clean(path), at.named); err != nil {
			return err
		}
	}
	return c.saveFile(l, filepath.Clean(path), at.real)
}

func (c *changes) has(file string) bool {
	return slices.ContainsFunc(c.list, func(has change) bool { return has.File == file })
}

func (c *changes) saveLink(l *lookup, path, file string) error {
	if c.has(file) {
		return nil
	}
	now, err := c.state(l, file)
	if err == nil {
		c.list = append(c.list, change{Path: path, File: file, Before: now})
	}
	return err
}

func (c *changes) saveFile(l *lookup, path, file string) error {
	if c.has(file) {
		return nil
	}
	added := change{Path: path, File: file}
	f, info, err := l.openFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		added.Folders = l.missingFolders(file)
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR), errors.Is(err, errNotRegular):
		return nil
	case err != nil:
		return err
	default:
		defer f.Close()
		if info.Size() > maxSaved {
			return errNotSaved
		}
		added.Copy, added.Mode = copyName(file), info.Mode().Perm()
		if added.Before.Sum, err = c.saveCopy(f, info, added.Copy); err != nil {
			return err
		}
	}
	c.list = append(c.list, added)
	return nil
}

// record is called after a command has touched a file, and remembers what it has left.
func (c *changes) record(path string) error {
	l := c.w.newLookup()
	at, err := l.resolve(path)
	if errors.Is(err, errOutside) {
		return err
	}
	var failed error
	for i := range c.list {
		changed := &c.list[i]
		if changed.Path != filepath.Clean(path) && (err != nil || changed.File != at.real && changed.File != at.named) {
			continue
		}
		now, err := c.state(l, changed.File)
		changed.After, changed.Recorded = now, err == nil
		failed = errors.Join(failed, err)
	}
	return failed
}

// summary names the files that the session has created, changed and deleted, all in all: a file
// that it has created and deleted is none of them.
func (c *changes) summary() (created, changed, deleted []string) {
	for _, f := range c.list {
		switch {
		case !f.Recorded || f.Before == f.After:
		case f.Before == state{}:
			created = append(created, f.File)
		case f.After == state{}:
			deleted = append(deleted, f.File)
		default:
			changed = append(changed, f.File)
		}
	}
	slices.Sort(created)
	slices.Sort(changed)
	slices.Sort(deleted)
	return created, changed, deleted
}

// state returns the state of a file now. The file is one of the list, which may have been tampered
// with.
func (c *changes) state(l *lookup, file string) (state, error) {
	e, err := l.enterStored(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return state{}, nil
	case err != nil:
		return state{}, err
	}
	defer e.close()
	if target, err := e.folder.Readlink(e.name); err == nil {
		return state{Link: target}, nil
	}
	f, _, err := e.openAs(os.O_RDONLY, modebits.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	sum, err := sumOf(io.Discard, f)
	return state{Sum: sum}, err
}

// sumOf copies a content and returns its SHA-256.
func sumOf(to io.Writer, from io.Reader) (string, error) {
	hash := sha256.New()
	_, err := io.Copy(io.MultiWriter(to, hash), from)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// enterStored is enter for a path of the session file, which may have been tampered with.
func (l *lookup) enterStored(file string) (*entry, error) {
	if l.isPrivate(filepath.Join(l.dir, file)) {
		return nil, errOutside
	}
	return l.enter(file)
}

// openFile opens a regular file for reading. The path has no links.
func (l *lookup) openFile(file string) (*os.File, fs.FileInfo, error) {
	e, err := l.enter(file)
	if err != nil {
		return nil, nil, err
	}
	defer e.close()
	return e.openAs(os.O_RDONLY, modebits.Read)
}

// missingFolders returns the parent folders of a file that do not exist, from the inside out.
func (l *lookup) missingFolders(file string) (missing []string) {
	for dir := filepath.Dir(file); dir != "."; dir = filepath.Dir(dir) {
		e, err := l.enter(dir)
		if err == nil {
			_, err = e.folder.Lstat(e.name)
			e.close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	return missing
}
