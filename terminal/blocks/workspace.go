package blocks

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"nanobot/internal/atomicfile"
	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/media"
)

var (
	// errOutside refuses a path outside the workspace or to a file of the gateway. It does not
	// reveal whether the file exists.
	errOutside = errors.New("outside workspace")
	// errNotFound means that there is not a regular file at the path.
	errNotFound = errors.New("no such file")
	// errNotRegular refuses to replace a device, a socket or a FIFO.
	errNotRegular = errors.New("not a regular file")
)

// workspace is the folder in which an agent works. Its methods take relative paths. A path is
// resolved and checked first, and then opened folder by folder without following symbolic links, so
// a link created in between cannot redirect it.
type workspace struct {
	dir       string // without links
	root      *nofollow.Folder
	private   []string // files and folders of the gateway, and the parents of all chats' folders
	guard     media.Guard
	protected media.Protected
	// user is the agent's user if that is not the gateway's. The gateway, which is root then, does
	// nothing for the agent that this user could not do.
	user *syscall.Credential
	temp string // part of the names of temporary files
}

// openWorkspace opens the agent's working folder.
func openWorkspace(p terminal.ExecEnv) (*workspace, error) {
	w := &workspace{
		guard: media.Guard{Private: p.Private, Chats: p.Chats}, protected: p.Protected,
		user: p.User, temp: rand.Text(),
	}
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err == nil {
		w.dir, err = filepath.Abs(dir)
	}
	if err == nil {
		err = w.guard.CheckPath(w.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", p.Dir, err)
	}
	w.private = append(w.private, p.Private...)
	for _, c := range p.Chats {
		w.private = append(w.private, c.Parent)
	}
	if w.root, err = nofollow.OpenFolder(w.dir); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return w, nil
}

func (w *workspace) close() { _ = w.root.Close() }

// read returns the content of a regular file, at most limit bytes, and the size of the file.
func (w *workspace) read(path string, limit int64) (content []byte, size int64, err error) {
	e, err := w.openEntry(path)
	if err != nil {
		return nil, 0, asNotFound(err)
	}
	defer e.close()
	f, info, err := e.openChecked(os.O_RDONLY, modebits.Read)
	if err != nil {
		return nil, 0, asNotFound(err)
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, limit))
	return content, info.Size(), err
}

// stat returns the size of a regular file.
func (w *workspace) stat(path string) (size int64, err error) {
	e, err := w.openEntry(path)
	if err != nil {
		return 0, asNotFound(err)
	}
	defer e.close()
	info, err := e.stat()
	if err != nil {
		return 0, asNotFound(err)
	}
	return info.Size(), e.checkHardLinks(info)
}

// write replaces the content of a file atomically, or creates the file and its parent folders. An
// existing file keeps its permissions and its owner.
func (w *workspace) write(path string, content []byte) error {
	l := w.newLookup()
	at, err := l.resolve(path)
	switch {
	case err != nil:
		return err
	case at.isFolder:
		return syscall.EISDIR
	}
	e, err := l.openParentCreating(at.real)
	if err != nil {
		return err
	}
	defer e.close()
	return e.replace(func(f *os.File, old fs.FileInfo) error {
		if old != nil {
			if err := atomicfile.CopyAccess(f, old); err != nil {
				return err
			}
		}
		_, err := f.Write(content)
		return err
	})
}

// target is the file that a path refers to.
type target struct {
	file      string // relative to the workspace and without symbolic links
	link      string // the path of the link if the path itself is a link, or ""
	protected bool   // a person must agree to each change
}

func (w *workspace) target(path string) (target, error) {
	at, err := w.newLookup().resolve(path)
	if err != nil {
		return target{}, err
	}
	paths := append(at.links, filepath.Join(w.dir, at.real))
	t := target{file: at.real, protected: w.protected.Contain(w.dir, paths...)}
	if at.linkPath != at.real && !at.isFolder {
		t.link = at.linkPath
	}
	return t, nil
}

// removeTemp removes the temporary file of an interrupted write with the same temp.
func (w *workspace) removeTemp(path string) {
	if e, err := w.openEntry(path); err == nil {
		_ = e.folder.Remove(e.tempName())
		e.close()
	}
}

// remove removes a file, or the symbolic link to a file.
func (w *workspace) remove(path string) error {
	if _, err := w.stat(path); err != nil {
		return err
	}
	l := w.newLookup()
	at, err := l.resolve(path)
	if err != nil {
		return asNotFound(err)
	}
	e, err := l.openParent(at.linkPath)
	if err != nil {
		return asNotFound(err)
	}
	defer e.close()
	return asNotFound(e.remove())
}

// openEntry opens the parent folder of an existing file.
func (w *workspace) openEntry(path string) (*entry, error) {
	l := w.newLookup()
	at, err := l.resolve(path)
	switch {
	case err != nil:
		return nil, err
	case at.isFolder:
		return nil, errNotFound
	}
	return l.openParent(at.real)
}

// asNotFound maps the errors of a missing file to errNotFound.
func asNotFound(err error) error {
	for _, missing := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, errNotRegular} {
		if errors.Is(err, missing) {
			return errNotFound
		}
	}
	return err
}

// errorReason returns the reason of a file error without the path. Errors of the operating system
// are in English.
func errorReason(w words.Words, err error) string {
	var number syscall.Errno
	var pe *fs.PathError
	switch {
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &pe):
		return pe.Err.Error()
	}
	return w.Reason(err)
}
