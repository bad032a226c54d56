package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
)

// maxGuessed bounds how many files found in plain text are sent: a listing is not an album.
const maxGuessed = 20

// maxOpen bounds how many files of one frame are open at the same time, so that no agent uses up
// the gateway's file descriptors. A multiple of ten leaves full albums as they are.
const maxOpen = 50

// mediaRules decide which files an agent may send.
type mediaRules struct {
	roots []string // folders a file must be in
	guard FileGuard
	typed typed
	// covered, if not nil, reports whether the agent sees something else at a path without links.
	covered func(path string) bool
	// user is the agent's, if that is another user than ours: we may read files that it may not.
	user *syscall.Credential
}

// mediaRules are the rules for the files of the turn's chat.
func (t *turn) mediaRules() mediaRules {
	return mediaRules{
		roots: t.mediaRoots(t.chat), guard: FileGuard{Private: t.o.Private, Chats: t.chats()},
		covered: func(path string) bool { return t.sandbox.IsOvermounted(t.chat, path) }, user: t.sandbox.User(),
	}
}

// resolveAll resolves symlinks, so that the paths can be compared with resolved files. What does
// not exist holds no file.
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
	if err := m.guard.CheckPath(path); err != nil {
		return File{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, reason(err)
	}
	roots := resolveAll(m.roots)
	if !insideAny(roots, real) {
		return File{}, errOutside
	}
	if m.covered != nil && m.covered(real) {
		return File{}, errors.New("the agent does not see that file, because it has a folder of its own there")
	}
	// A link may have been changed since; from here on none is followed.
	if err := m.guard.CheckPath(real); err != nil {
		return File{}, err
	}
	file, err := m.inspect(real)
	if err == nil && !m.mayRead(file, roots) {
		_ = file.Open.Close()
		return File{}, errNotReadable
	}
	return file, err
}

// mayRead reports whether the agent's user may read a file, and search the folders that lead to it
// from the root that it is in.
func (m mediaRules) mayRead(file File, roots []string) bool {
	if m.user == nil {
		return true
	}
	if !modebits.Allow(m.user, file.info, modebits.Read) {
		return false
	}
	for dir := filepath.Dir(file.Path); insideAny(roots, dir) && !slices.Contains(roots, dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !modebits.Allow(m.user, info, modebits.Search) {
			return false
		}
	}
	return true
}

// errOutside says that a file is in none of the roots.
var errOutside = errors.New("outside the folders that files may be sent from (mediaRoots)")

// errNotReadable says that the agent may not read a file.
var errNotReadable = errors.New("not readable")

// inspect opens a file, without blocking on a FIFO or following a symbolic link put there
// meanwhile, and returns it open if it may be sent.
func (m mediaRules) inspect(path string) (File, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return File{}, reason(err)
	}
	info, err := f.Stat()
	if err != nil {
		err = reason(err)
	} else {
		err = m.sendable(info)
	}
	if err != nil {
		_ = f.Close()
		return File{}, err
	}
	return File{Path: path, Size: info.Size(), Open: f, info: info}, nil
}

// sendable returns why an open file may not be sent.
func (m mediaRules) sendable(info fs.FileInfo) error {
	if err := m.guard.CheckFile(info); err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return errors.New("a folder, not a file")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case info.Size() == 0:
		return errors.New("the file is empty")
	}
	return nil
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
		return errNotReadable
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

// checkOf is check, but for the files that the protocol has written, which need not be in the
// roots. No link is followed to them.
func (m mediaRules) checkOf(f Frame, path string) (File, error) {
	if f.ProtocolDir == "" || filepath.Dir(path) != f.ProtocolDir {
		return m.check(path)
	}
	return m.inspect(path)
}

// emitMedia checks the files that a frame names and emits the frame with those that may be sent,
// and with remarks about the others. The files are open until emit returns, and closed on every way
// out. Of more than maxOpen files the others follow in frames of their own.
func (m mediaRules) emitMedia(f Frame, reveal bool, emit func(Frame) error) error {
	f.Checked = nil
	var notes []string
	left, begun := 0, false
	echoes := func(string, fs.FileInfo) bool { return false }
	if f.Guessed {
		echoes = m.typed.echoes()
	}
	defer func() { closeFiles(f.Checked) }()
	for _, path := range f.Media {
		if len(f.Checked) == maxOpen {
			err := emit(f)
			closeFiles(f.Checked)
			f.Text, f.Checked, begun = "", nil, true
			if err != nil {
				return err
			}
		}
		file, err := m.checkOf(f, path)
		switch {
		case echoes(path, file.info): // said, and not to be looked at; a refusal would only tell whether it is there
			file.close()
		case err == nil && f.Guessed && slices.ContainsFunc(f.Checked, func(f File) bool { return f.Path == file.Path }):
			file.close()
		case err == nil && f.Guessed && len(f.Checked) == maxGuessed:
			file.close()
			left++
		case err == nil:
			f.Checked = append(f.Checked, file)
		case f.Guessed && errors.Is(err, errNoFile):
		default:
			name := path
			if !reveal {
				name = filepath.Base(path)
			}
			notes = append(notes, fmt.Sprintf("⚠ %q was not sent: %s.", name, err))
		}
	}
	f.Text = join(f.Text, refusals(notes, left))
	if begun && f.Text == "" && len(f.Checked) == 0 {
		return nil
	}
	return emit(f)
}

// refusals are the remarks about files that are not sent, of which left are too many for plain
// text.
func refusals(notes []string, left int) string {
	if n := len(notes); n > maxNotes {
		notes = append(notes[:maxNotes:maxNotes], fmt.Sprintf("⚠ and %d more were not sent.", n-maxNotes))
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("⚠ %d more files were not sent: %d at most are taken from plain text.", left, maxGuessed))
	}
	return strings.Join(notes, "\n")
}

// close closes a file that was opened to be checked. A file that could not be opened is nil, which
// Close permits.
func (f File) close() { _ = f.Open.Close() }

func closeFiles(files []File) {
	for _, f := range files {
		f.close()
	}
}
