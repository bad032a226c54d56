package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal/media"
)

// File is a checked file that an agent sends, for packages that do not import media.
type File = media.File

// maxFilesInText bounds how many files found in plain text are sent: a listing is not an album.
const maxFilesInText = 20

// maxOpenFiles bounds how many files of one frame are open at the same time, so that no agent
// exhausts the gateway's file descriptors. A multiple of ten keeps albums of ten together.
const maxOpenFiles = 50

// mediaRules returns the rules for the files of the turn's chat.
func (t *turn) mediaRules() media.Rules {
	return media.Rules{
		Roots: t.mediaRoots(t.dirs), Guard: media.Guard{Private: t.o.Private, Chats: t.chatFolders()},
		Overmounted: func(path string) bool { return t.sandbox.IsOvermounted(t.dirs, path) }, User: t.sandbox.User(),
	}
}

// checkFile checks a file of a frame. Files that the protocol has written need not be inside the
// roots, and no symbolic link to them is followed.
func (t *turn) checkFile(f Frame, path string) (File, error) {
	if f.ProtocolDir == "" || filepath.Dir(path) != f.ProtocolDir {
		return t.media.Check(path)
	}
	return t.media.CheckOwn(path)
}

// emitMedia checks the files of a frame and emits the frame with those that may be sent, and with
// remarks about the others, unless all are required. The files are open until emit returns. If
// there are more than maxOpenFiles, the rest follows in further frames.
func (t *turn) emitMedia(f Frame, emit func(Frame) error) error {
	if len(f.Media) == 0 && len(f.Links) == 0 {
		return emit(f)
	}
	f.Media, f.Links, f.Checked = t.resolvePaths(f.Media, f.ProtocolDir), t.resolvePaths(f.Links, ""), nil
	var notes []string
	left, begun := 0, false
	echoes := func(string, fs.FileInfo) bool { return false }
	if f.Guessed {
		echoes = t.echo.Matcher()
	}
	defer func() { media.CloseAll(f.Checked...) }()
	for i, path := range slices.Concat(f.Media, f.Links) {
		if len(f.Checked) == maxOpenFiles {
			part := f
			part.Choices = nil // the last part has them
			err := emit(part)
			media.CloseAll(f.Checked...)
			t.sent.Add(f.Checked...)
			f.Text, f.Checked, begun = "", nil, true
			if err != nil {
				return err
			}
		}
		linked := i >= len(f.Media)
		file, err := t.checkFile(f, path)
		switch {
		case echoes(path, file.Info): // repeated by the agent: even a refusal would reveal whether the file exists
			media.CloseAll(file)
		case err == nil && linked && t.sent.Has(file.Path), err == nil && (linked || f.Guessed) && f.hasChecked(file.Path):
			media.CloseAll(file)
		case err == nil && (linked || f.Guessed) && len(f.Checked) >= maxFilesInText:
			media.CloseAll(file)
			left++
		case err == nil:
			f.Checked = append(f.Checked, file)
		case f.MediaRequired:
			return err
		case linked, f.Guessed && errors.Is(err, media.ErrMissing):
		default:
			notes = append(notes, t.refusalRemark(path, err))
		}
	}
	f.Text = joinLines(f.Text, refusalRemarks(t.req.Words, notes, left))
	if begun && f.Text == "" && len(f.Checked) == 0 {
		return nil
	}
	t.sent.Add(f.Checked...)
	return emit(f)
}

// hasChecked reports whether a file is among those that may be sent.
func (f Frame) hasChecked(path string) bool {
	return slices.ContainsFunc(f.Checked, func(f File) bool { return f.Path == path })
}

// refusalRemark returns the remark about a file that was not sent. Only the operator may see its
// folder.
func (t *turn) refusalRemark(path string, err error) string {
	if !t.reveal {
		path = filepath.Base(path)
	}
	return t.req.Words.Text(words.FileNotSent, strconv.Quote(path), t.req.Words.Reason(err))
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

// OpenMedia opens files that the agent of a chat sends otherwise than by a frame, if it may send
// all of them. Relative paths start in dir or, if that is "", in the agent's working folder. The
// caller closes the files. The error is meant for the agent: it names the file that may not be
// sent, and why.
func (r *Runner) OpenMedia(o Owner, dir string, paths []string) (files []File, err error) {
	if len(paths) > maxOpenFiles {
		return nil, fmt.Errorf("these are %d files, and %d can be sent at once; send them in several messages", len(paths),
			maxOpenFiles)
	}
	t, err := r.prepareOutsideTurn(o.Channel, o.ChatID)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(dir) {
		dir = t.dir
	}
	defer func() {
		if err != nil {
			CloseMedia(files)
			files = nil
		}
	}()
	rules := t.mediaRules()
	for _, path := range paths {
		at := path
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		file, err := rules.Check(t.sandbox.TempPath(t.dirs, at))
		if errors.Is(err, media.ErrOutside) && len(t.o.Config.MediaRoots) == 0 {
			err = fmt.Errorf("%w; copy it into %s first", err, t.userDir)
		}
		if err != nil {
			return files, fmt.Errorf("%q cannot be sent: %w", path, err)
		}
		files = append(files, file)
	}
	r.sent.OfChat(o.Channel + ":" + o.ChatID).Add(files...)
	return files, nil
}

// CloseMedia closes the files of OpenMedia. A file may be closed already.
func CloseMedia(files []File) { media.CloseAll(files...) }
