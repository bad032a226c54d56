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
	"nanobot/internal/nofollow"
	"nanobot/terminal"
)

var (
	// errOutside refuses a path that leads out of the workspace or to one of the gateway's own
	// files. It does not tell whether there is a file.
	errOutside = errors.New("outside workspace")
	// errNotFound says that a path leads to no regular file.
	errNotFound = errors.New("no such file")
	// errNotRegular refuses to replace a device, a socket or a FIFO.
	errNotRegular = errors.New("not a regular file")
)

// workspace is the folder in which an agent works. Its methods take paths that are relative to it.
// A path is resolved and checked first, and then opened folder by folder without following any
// symbolic link, so a link that is put there meanwhile cannot lead elsewhere.
type workspace struct {
	dir     string // without links
	root    *nofollow.Folder
	private []string // files and folders of the gateway, and the parents of all chats' folders
	guard   terminal.FileGuard
	user    *agentUser
	temp    string // is part of the names of temporary files
}

// openWorkspace opens the folder in which an agent works.
func openWorkspace(p terminal.ExecEnv) (*workspace, error) {
	w := &workspace{guard: terminal.FileGuard{Private: p.Private, Chats: p.Chats}, user: (*agentUser)(p.User), temp: rand.Text()}
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

// read returns the content of a file, at most as many bytes as most says unless that is negative,
// and the size of the whole file.
func (w *workspace) read(path string, most int64) (content []byte, size int64, err error) {
	f, info, err := w.open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var from io.Reader = f
	if most >= 0 {
		from = io.LimitReader(f, most)
	}
	content, err = io.ReadAll(from)
	return content, info.Size(), err
}

// open opens a regular file for reading.
func (w *workspace) open(path string) (*os.File, fs.FileInfo, error) {
	e, err := w.find(path)
	if err != nil {
		return nil, nil, notFound(err)
	}
	defer e.close()
	return e.open()
}

// stat returns the size of a regular file.
func (w *workspace) stat(path string) (size int64, err error) {
	e, err := w.find(path)
	if err != nil {
		return 0, notFound(err)
	}
	defer e.close()
	info, err := e.stat()
	if err != nil {
		return 0, notFound(err)
	}
	return info.Size(), e.check(info)
}

// write replaces the content of a file in one step, or makes the file and its parent folders. An
// existing file keeps its permissions and its owner.
func (w *workspace) write(path string, content []byte) error {
	l := w.newLookup()
	at, err := l.resolve(path)
	switch {
	case err != nil:
		return err
	case at.folder:
		return syscall.EISDIR
	}
	e, err := l.enterCreating(at.real)
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

// target returns where a path leads, relative to the workspace and without symbolic links. If the
// path itself names a link, link is where that is, else "".
func (w *workspace) target(path string) (file, link string, err error) {
	at, err := w.newLookup().resolve(path)
	if err == nil && at.named != at.real && !at.folder {
		link = at.named
	}
	return at.real, link, err
}

// removeTemp removes the temporary file that a write with the same temp has left when it was cut
// off.
func (w *workspace) removeTemp(path string) {
	if e, err := w.find(path); err == nil {
		_ = e.folder.Remove(e.tempName())
		e.close()
	}
}

// remove removes a file. If the path names a symbolic link to a file, the link is removed.
func (w *workspace) remove(path string) error {
	if _, err := w.stat(path); err != nil {
		return err
	}
	l := w.newLookup()
	at, err := l.resolve(path)
	if err != nil {
		return notFound(err)
	}
	e, err := l.enter(at.named)
	if err != nil {
		return notFound(err)
	}
	defer e.close()
	return notFound(e.remove())
}

// find opens the folder of an existing file.
func (w *workspace) find(path string) (*entry, error) {
	l := w.newLookup()
	at, err := l.resolve(path)
	switch {
	case err != nil:
		return nil, err
	case at.folder:
		return nil, errNotFound
	}
	return l.enter(at.real)
}

// notFound turns the errors of a missing file into errNotFound.
func notFound(err error) error {
	for _, missing := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, errNotRegular} {
		if errors.Is(err, missing) {
			return errNotFound
		}
	}
	return err
}

// reason says why something could not be done to a file, without naming it.
func reason(err error) string {
	var number syscall.Errno
	var pe *fs.PathError
	switch {
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &pe):
		return pe.Err.Error()
	}
	return err.Error()
}
