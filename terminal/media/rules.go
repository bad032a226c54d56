// Package media decides which files an agent may send, and which it may neither read nor change. It
// finds the paths of files in an agent's output. It knows nothing of frames and protocols.
package media

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
	"nanobot/internal/words"
)

// File is a checked file that an agent sends. Its content must be read from Open, because another
// file may have its path by now.
type File struct {
	Path string
	Size int64
	Open *os.File
	Info fs.FileInfo // of Open, when it was checked
}

// CloseAll closes files. A file may be closed already, and Open may be nil.
func CloseAll(files ...File) {
	for _, f := range files {
		_ = f.Open.Close()
	}
}

// Rules decide which files an agent may send.
type Rules struct {
	Roots []string // folders a file must be in
	Guard Guard
	// Overmounted, if not nil, reports whether a mount hides a path without symbolic links from the
	// agent.
	Overmounted func(path string) bool
	// User is the agent's user if it is not ours: we may be able to read files that the agent
	// cannot.
	User *syscall.Credential
}

// resolveAll resolves symbolic links for comparison with resolved files. Paths that do not exist
// are left out.
func resolveAll(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// Check opens a file that may be sent, or returns an error that can be shown to the user.
func (r Rules) Check(path string) (File, error) {
	if !filepath.IsAbs(path) {
		return File{}, words.NewError(words.FileNotAbsolute)
	}
	if err := r.Guard.CheckPath(path); err != nil {
		return File{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, shortFileError(err)
	}
	roots := resolveAll(r.Roots)
	if !isInsideAny(roots, real) {
		return File{}, ErrOutside
	}
	if r.Overmounted != nil && r.Overmounted(real) {
		return File{}, words.NewError(words.FileUnseen)
	}
	// A symbolic link may have changed since; from here on none is followed.
	if err := r.Guard.CheckPath(real); err != nil {
		return File{}, err
	}
	file, err := r.CheckOwn(real)
	if err == nil && !r.mayRead(file, roots) {
		CloseAll(file)
		return File{}, errNotReadable
	}
	return file, err
}

// mayRead reports whether the agent's user may read a file, and search the folders from its root to
// it.
func (r Rules) mayRead(file File, roots []string) bool {
	if r.User == nil {
		return true
	}
	if !modebits.Allow(r.User, file.Info, modebits.Read) {
		return false
	}
	for dir := filepath.Dir(file.Path); isInsideAny(roots, dir) && !slices.Contains(roots, dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !modebits.Allow(r.User, info, modebits.Search) {
			return false
		}
	}
	return true
}

// ErrOutside says that a file is outside all roots.
var ErrOutside = words.NewError(words.FileOutside)

// errNotReadable says that the agent may not read a file.
var errNotReadable = words.NewError(words.FileNotReadable)

// CheckOwn is Check for a file that the gateway has written for the agent, which need not be in one
// of the roots. It neither blocks on a FIFO nor follows a symbolic link.
func (r Rules) CheckOwn(path string) (File, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return File{}, shortFileError(err)
	}
	info, err := f.Stat()
	if err != nil {
		err = shortFileError(err)
	} else {
		err = r.checkSendable(info)
	}
	if err != nil {
		_ = f.Close()
		return File{}, err
	}
	return File{Path: path, Size: info.Size(), Open: f, Info: info}, nil
}

// checkSendable returns why an open file may not be sent.
func (r Rules) checkSendable(info fs.FileInfo) error {
	if err := r.Guard.CheckFile(info); err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return words.NewError(words.FileIsFolder)
	case !info.Mode().IsRegular():
		return words.NewError(words.FileNotRegular)
	case info.Size() == 0:
		return words.NewError(words.FileEmpty)
	}
	return nil
}

// ErrMissing says that a file does not exist. Text that only looks like a path is no mistake.
var ErrMissing = words.NewError(words.FileMissing)

// shortFileError removes the path from a file error, since the message names it anyway.
func shortFileError(err error) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return ErrMissing
	case errors.Is(err, fs.ErrPermission):
		return errNotReadable
	case errors.As(err, &pe):
		return pe.Err
	}
	return err
}

func isInsideAny(roots []string, path string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return nofollow.Within(root, path) })
}
