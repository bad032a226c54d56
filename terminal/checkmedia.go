package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/straight"
)

// maxGuessed bounds how many files found in plain text are sent: a listing is not an album.
const maxGuessed = 20

// mediaRules decide which files an agent may send.
type mediaRules struct {
	roots []string // folders a file must be in
	guard Guard
	typed typed
	// covered, if not nil, reports whether the agent sees something else at a path without links.
	covered func(path string) bool
}

// resolveAll resolves symlinks, so that the paths can be compared with resolved files. What does not exist holds no file.
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

// check returns the file if it may be sent, otherwise an error that can be shown to the user.
func (m mediaRules) check(path string) (File, error) {
	if !filepath.IsAbs(path) {
		return File{}, errors.New("not an absolute path")
	}
	if err := m.guard.Path(path); err != nil {
		return File{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, reason(err)
	}
	if !insideAny(resolveAll(m.roots), real) {
		return File{}, errors.New("outside the folders that files may be sent from (mediaRoots)")
	}
	if m.covered != nil && m.covered(real) {
		return File{}, errors.New("the agent does not see that file, because it has a folder of its own there")
	}
	// A link may have been changed since; from here on none is followed.
	if err := m.guard.Path(real); err != nil {
		return File{}, err
	}
	return m.inspect(real)
}

// inspect opens the file as a sender would, without blocking on a FIFO or following a link put there meanwhile.
func (m mediaRules) inspect(path string) (File, error) {
	f, err := straight.Open(path)
	if err != nil {
		return File{}, reason(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, reason(err)
	}
	if err := m.guard.File(info); err != nil {
		return File{}, err
	}
	switch {
	case info.IsDir():
		return File{}, errors.New("a folder, not a file")
	case !info.Mode().IsRegular():
		return File{}, errors.New("not a regular file")
	case info.Size() == 0:
		return File{}, errors.New("the file is empty")
	}
	return File{Path: path, Size: info.Size(), Info: info}, nil
}

// errNoFile is told apart because text that only looks like a path is no mistake.
var errNoFile = errors.New("no such file")

// reason drops the path from a file error, since the path is named beside it.
func reason(err error) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return errNoFile
	case errors.Is(err, fs.ErrPermission):
		return errors.New("not readable")
	case errors.As(err, &pe):
		return pe.Err
	}
	return err
}

func insideAny(roots []string, path string) bool {
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}

// checkOf is check, but for the files that the protocol has written, which need not be in the roots. No link is followed to them.
func (m mediaRules) checkOf(f Frame, path string) (File, error) {
	if f.Own == "" || filepath.Dir(path) != f.Own {
		return m.check(path)
	}
	return m.inspect(path)
}

// checkMedia splits a frame's media into files that may be sent and remarks about the others.
func (m mediaRules) checkMedia(f Frame, reveal bool) (files []File, notes []string) {
	left := 0
	echoes := func(string, fs.FileInfo) bool { return false }
	if f.Guessed {
		echoes = m.typed.echoes()
	}
	for _, path := range f.Media {
		file, err := m.checkOf(f, path)
		switch {
		case echoes(path, file.Info): // said, and not to be looked at; a refusal would only tell whether it is there
		case err == nil && f.Guessed && slices.ContainsFunc(files, func(f File) bool { return f.Path == file.Path }):
		case err == nil && f.Guessed && len(files) == maxGuessed:
			left++
		case err == nil:
			files = append(files, file)
		case f.Guessed && errors.Is(err, errNoFile):
		default:
			name := path
			if !reveal {
				name = filepath.Base(path)
			}
			notes = append(notes, fmt.Sprintf("⚠ %q was not sent: %s.", name, err))
		}
	}
	if n := len(notes); n > maxNotes {
		notes = append(notes[:maxNotes:maxNotes], fmt.Sprintf("⚠ and %d more were not sent.", n-maxNotes))
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("⚠ %d more files were not sent: %d at most are taken from plain text.", left, maxGuessed))
	}
	return files, notes
}
