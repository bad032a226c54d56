package terminal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
	"nanobot/internal/words"
)

// maxFilesInText bounds how many files found in plain text are sent: a listing is not an album.
const maxFilesInText = 20

// maxOpenFiles bounds how many files of one frame are open at the same time, so that no agent
// exhausts the gateway's file descriptors. A multiple of ten keeps albums of ten together.
const maxOpenFiles = 50

// mediaRules decides which files an agent may send.
type mediaRules struct {
	roots []string // folders a file must be in
	guard FileGuard
	echo  echoFilter
	sent  *sentFiles // of the turn; nil: they are not recorded
	// overmounted, if not nil, reports whether a mount hides a path without symbolic links from the
	// agent.
	overmounted func(path string) bool
	// user is the agent's user if it is not ours: we may be able to read files that the agent
	// cannot.
	user *syscall.Credential
}

// mediaRules returns the rules for the files of the turn's chat.
func (t *turn) mediaRules() mediaRules {
	return mediaRules{
		roots: t.mediaRoots(t.dirs), guard: FileGuard{Private: t.o.Private, Chats: t.chatFolders()},
		overmounted: func(path string) bool { return t.sandbox.IsOvermounted(t.dirs, path) }, user: t.sandbox.User(),
	}
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

// check opens a file that may be sent, or returns an error that can be shown to the user.
func (m mediaRules) check(path string) (File, error) {
	if !filepath.IsAbs(path) {
		return File{}, words.NewError(words.FileNotAbsolute)
	}
	if err := m.guard.CheckPath(path); err != nil {
		return File{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, shortFileError(err)
	}
	roots := resolveAll(m.roots)
	if !isInsideAny(roots, real) {
		return File{}, errOutside
	}
	if m.overmounted != nil && m.overmounted(real) {
		return File{}, words.NewError(words.FileUnseen)
	}
	// A symbolic link may have changed since; from here on none is followed.
	if err := m.guard.CheckPath(real); err != nil {
		return File{}, err
	}
	file, err := m.openAndCheck(real)
	if err == nil && !m.mayRead(file, roots) {
		_ = file.Open.Close()
		return File{}, errNotReadable
	}
	return file, err
}

// mayRead reports whether the agent's user may read a file, and search the folders from its root to
// it.
func (m mediaRules) mayRead(file File, roots []string) bool {
	if m.user == nil {
		return true
	}
	if !modebits.Allow(m.user, file.info, modebits.Read) {
		return false
	}
	for dir := filepath.Dir(file.Path); isInsideAny(roots, dir) && !slices.Contains(roots, dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !modebits.Allow(m.user, info, modebits.Search) {
			return false
		}
	}
	return true
}

// errOutside says that a file is outside all roots.
var errOutside = words.NewError(words.FileOutside)

// errNotReadable says that the agent may not read a file.
var errNotReadable = words.NewError(words.FileNotReadable)

// openAndCheck opens a file, without blocking on a FIFO or following a symbolic link, and checks
// the open file.
func (m mediaRules) openAndCheck(path string) (File, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return File{}, shortFileError(err)
	}
	info, err := f.Stat()
	if err != nil {
		err = shortFileError(err)
	} else {
		err = m.checkSendable(info)
	}
	if err != nil {
		_ = f.Close()
		return File{}, err
	}
	return File{Path: path, Size: info.Size(), Open: f, info: info}, nil
}

// checkSendable returns why an open file may not be sent.
func (m mediaRules) checkSendable(info fs.FileInfo) error {
	if err := m.guard.CheckFile(info); err != nil {
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

// errNoFile is its own error because text that only looks like a path is no mistake.
var errNoFile = words.NewError(words.FileMissing)

// shortFileError removes the path from a file error, since the message names it anyway.
func shortFileError(err error) error {
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

func isInsideAny(roots []string, path string) bool {
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}

// checkFrameFile is check for a file of a frame. Files that the protocol has written need not be
// inside the roots, and no symbolic link to them is followed.
func (m mediaRules) checkFrameFile(f Frame, path string) (File, error) {
	if f.ProtocolDir == "" || filepath.Dir(path) != f.ProtocolDir {
		return m.check(path)
	}
	return m.openAndCheck(path)
}

// emitMedia checks the files of a frame and emits the frame with those that may be sent, and with
// remarks about the others, unless all are required. The files are open until emit returns. If
// there are more than maxOpenFiles, the rest follows in further frames.
func (m mediaRules) emitMedia(f Frame, reveal bool, w words.Words, emit func(Frame) error) error {
	f.Checked = nil
	var notes []string
	left, begun := 0, false
	echoes := func(string, fs.FileInfo) bool { return false }
	if f.Guessed {
		echoes = m.echo.matcher()
	}
	defer func() { closeFiles(f.Checked) }()
	for i, path := range slices.Concat(f.Media, f.Links) {
		if len(f.Checked) == maxOpenFiles {
			part := f
			part.Choices = nil // the last part has them
			err := emit(part)
			closeFiles(f.Checked)
			m.sent.add(f.Checked...)
			f.Text, f.Checked, begun = "", nil, true
			if err != nil {
				return err
			}
		}
		linked := i >= len(f.Media)
		file, err := m.checkFrameFile(f, path)
		switch {
		case echoes(path, file.info): // repeated by the agent: even a refusal would reveal whether the file exists
			file.close()
		case err == nil && linked && m.sent.has(file.Path), err == nil && (linked || f.Guessed) && f.hasChecked(file.Path):
			file.close()
		case err == nil && (linked || f.Guessed) && len(f.Checked) >= maxFilesInText:
			file.close()
			left++
		case err == nil:
			f.Checked = append(f.Checked, file)
		case f.MediaRequired:
			return err
		case linked, f.Guessed && errors.Is(err, errNoFile):
		default:
			notes = append(notes, refusalRemark(w, path, err, reveal))
		}
	}
	f.Text = joinLines(f.Text, refusalRemarks(w, notes, left))
	if begun && f.Text == "" && len(f.Checked) == 0 {
		return nil
	}
	m.sent.add(f.Checked...)
	return emit(f)
}

// hasChecked reports whether a file is among those that may be sent.
func (f Frame) hasChecked(path string) bool {
	return slices.ContainsFunc(f.Checked, func(f File) bool { return f.Path == path })
}

// refusalRemark returns the remark about a file that was not sent. Only the operator may see its
// folder.
func refusalRemark(w words.Words, path string, err error, reveal bool) string {
	if !reveal {
		path = filepath.Base(path)
	}
	return w.Text(words.FileNotSent, strconv.Quote(path), w.Reason(err))
}

// refusalRemarks returns the remarks about files that were not sent. left is the number of files
// beyond maxFilesInText.
func refusalRemarks(w words.Words, notes []string, left int) string {
	if n := len(notes); n > maxRemarks {
		notes = append(notes[:maxRemarks:maxRemarks], w.Text(words.MoreNotSent, n-maxRemarks))
	}
	if left > 0 {
		notes = append(notes, w.Text(words.TooManyFiles, left, maxFilesInText))
	}
	return strings.Join(notes, "\n")
}

// close closes a checked file. Open may be nil, which Close permits.
func (f File) close() { _ = f.Open.Close() }

func closeFiles(files []File) {
	for _, f := range files {
		f.close()
	}
}
