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

	"nanobot/internal/atomicfile"
	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
	"nanobot/internal/words"
)

// change is one file that the commands of a session have touched, as stored in the session file.
type change struct {
	Path string `json:"path"` // as the command wrote it, cleaned
	File string `json:"file"` // relative to the workspace, without symbolic links
	// Before is the state before the session, After the state after its last command.
	Before entryState `json:"before"`
	After  entryState `json:"after"`
	// Recorded means that After is known, so no command was interrupted.
	Recorded bool        `json:"recorded,omitempty"`
	Copy     string      `json:"copy,omitempty"` // the saved copy's name, if Before is a file
	Mode     fs.FileMode `json:"mode,omitempty"` // of the file before
	// Folders are the parent folders that did not exist before, from the inside out.
	Folders []string `json:"folders,omitempty"`
}

// entryState describes a directory entry: a regular file, a symbolic link, or nothing.
type entryState struct {
	Sum  string `json:"sum,omitempty"`  // SHA-256 of the file's content
	Link string `json:"link,omitempty"` // the link's target
}

// mayDiffer reports whether the file may differ from its state before the session.
func (c change) mayDiffer() bool { return !c.Recorded || c.Before != c.After }

// changes are the files that a session has touched, each with a copy of its previous content. A
// file with several paths is one change; a symbolic link and its target are two, since DELETE_FILE
// removes the link.
type changes struct {
	list      []change
	copies    *os.Root // the session's folder of saved copies
	workspace *workspace
}

func (c *changes) close() { _ = c.copies.Close() }

// maxSaved limits the size of a file that is copied.
const maxSaved = 64 << 20

// errNotSaved refuses a change that could not be undone.
var errNotSaved = fmt.Errorf("it has more than %d MiB, too much to be kept for /undo", maxSaved>>20)

// save copies a file before a command touches it, unless the session has touched it before. After
// an error the command must not be executed, since it could not be undone. A path at which the
// command will fail anyway is no error, unless it is outside the workspace.
func (c *changes) save(path string) error {
	l := c.workspace.newLookup()
	at, err := l.resolve(path)
	switch {
	case errors.Is(err, errOutside):
		return err
	case err != nil || at.isFolder:
		return nil //nolint:nilerr // the command meets the same error
	}
	if at.linkPath != at.real {
		if err := c.saveLink(l, filepath.Clean(path), at.linkPath); err != nil {
			return err
		}
	}
	return c.saveFile(l, filepath.Clean(path), at.real)
}

func (c *changes) contains(file string) bool {
	return slices.ContainsFunc(c.list, func(has change) bool { return has.File == file })
}

func (c *changes) saveLink(l *lookup, path, file string) error {
	if c.contains(file) {
		return nil
	}
	now, err := c.state(l, file)
	if err == nil {
		c.list = append(c.list, change{Path: path, File: file, Before: now})
	}
	return err
}

func (c *changes) saveFile(l *lookup, path, file string) error {
	if c.contains(file) {
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

// record stores the state of a file after a command has touched it.
func (c *changes) record(path string) error {
	l := c.workspace.newLookup()
	at, err := l.resolve(path)
	if errors.Is(err, errOutside) {
		return err
	}
	var failed error
	for i := range c.list {
		changed := &c.list[i]
		if changed.Path != filepath.Clean(path) && (err != nil || changed.File != at.real && changed.File != at.linkPath) {
			continue
		}
		now, err := c.state(l, changed.File)
		changed.After, changed.Recorded = now, err == nil
		failed = errors.Join(failed, err)
	}
	return failed
}

// summary returns the files that the session as a whole has created, changed and deleted. A file
// that it has created and deleted is in none of the lists.
func (c *changes) summary() (created, changed, deleted []string) {
	for _, f := range c.list {
		switch {
		case !f.Recorded || f.Before == f.After:
		case f.Before == entryState{}:
			created = append(created, f.File)
		case f.After == entryState{}:
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

// state returns the current state of a file in the list. The agent can edit the list, so the path
// is checked again.
func (c *changes) state(l *lookup, file string) (entryState, error) {
	e, err := l.openStoredParent(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return entryState{}, nil
	case err != nil:
		return entryState{}, err
	}
	defer e.close()
	if target, err := e.folder.Readlink(e.name); err == nil {
		return entryState{Link: target}, nil
	}
	f, _, err := e.openChecked(os.O_RDONLY, modebits.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return entryState{}, nil
	}
	if err != nil {
		return entryState{}, err
	}
	defer f.Close()
	sum, err := copyAndHash(io.Discard, f)
	return entryState{Sum: sum}, err
}

// copyAndHash copies the content and returns its SHA-256.
func copyAndHash(to io.Writer, from io.Reader) (string, error) {
	hash := sha256.New()
	_, err := io.Copy(io.MultiWriter(to, hash), from)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// openStoredParent is openParent for a path of the session file, which the agent can edit.
func (l *lookup) openStoredParent(file string) (*entry, error) {
	if l.isGatewayPath(filepath.Join(l.dir, file)) {
		return nil, errOutside
	}
	return l.openParent(file)
}

// openFile opens a regular file for reading. The path must have no symbolic links.
func (l *lookup) openFile(file string) (*os.File, fs.FileInfo, error) {
	e, err := l.openParent(file)
	if err != nil {
		return nil, nil, err
	}
	defer e.close()
	return e.openChecked(os.O_RDONLY, modebits.Read)
}

// missingFolders returns the parent folders of a file that do not exist, innermost first.
func (l *lookup) missingFolders(file string) (missing []string) {
	for dir := filepath.Dir(file); dir != "."; dir = filepath.Dir(dir) {
		e, err := l.openParent(dir)
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

// errCopyChanged means that a saved copy differs from the saved content. The agent's commands have
// access to the copies.
var errCopyChanged = words.NewError(words.BlocksCopyChanged)

// copyName returns the name of the saved copy of a file. It depends only on the path, so the next
// attempt overwrites an incomplete copy.
func copyName(file string) string {
	sum := sha256.Sum256([]byte(file))
	return hex.EncodeToString(sum[:16])
}

// saveCopy saves the content of a file, synced to disk, and returns its SHA-256. The copy has the
// owner of the file, to restore it later; with another user for the agent, that user owns both.
func (c *changes) saveCopy(from *os.File, info fs.FileInfo, name string) (sum string, err error) {
	copies, err := nofollow.OpenRootFolder(c.copies)
	if err != nil {
		return "", err
	}
	defer func() { _ = copies.Close() }()
	err = atomicfile.ReplaceVia(copies, name, name+".tmp", func(to *os.File) (err error) {
		if err := atomicfile.CopyAccess(to, info); err != nil {
			return err
		}
		if err := c.workspace.chown(to, copies); err != nil {
			return err
		}
		if err := to.Chmod(0o600); err != nil {
			return err
		}
		if sum, err = copyAndHash(to, from); err != nil {
			return err
		}
		return to.Sync()
	})
	if err != nil {
		return "", err
	}
	dir, err := copies.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	return sum, dir.Sync()
}

// openCopy opens the saved copy of a file. It refuses symbolic links, files that are not regular,
// and hard links to files that the agent must not read. The caller compares the content with the
// checksum of the change.
func (c *changes) openCopy(of change) (*os.File, fs.FileInfo, error) {
	copies, err := nofollow.OpenRootFolder(c.copies)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = copies.Close() }()
	f, err := copies.OpenFile(of.Copy, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, syscall.EACCES):
		return nil, nil, err
	case err != nil:
		return nil, nil, errCopyChanged
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !modebits.Allow(c.workspace.user, info, modebits.Read) ||
		c.workspace.guard.CheckFile(info) != nil {
		_ = f.Close()
		return nil, nil, errCopyChanged
	}
	return f, info, nil
}
