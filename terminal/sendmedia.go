package terminal

import (
	"errors"
	"fmt"
	"path/filepath"
)

// OpenMedia opens files that the agent of a chat sends otherwise than by a frame, if it may send
// all of them. Relative paths start in dir or, if that is "", in the agent's working folder. The
// caller closes the files. The error is meant for the agent: it names the file that may not be
// sent, and why.
func (r *Runner) OpenMedia(o Owner, dir string, paths []string) (files []File, err error) {
	if len(paths) > maxOpenFiles {
		return nil, fmt.Errorf("these are %d files, and %d can be sent at once; send them in several messages", len(paths), maxOpenFiles)
	}
	t, err := r.prepareOutsideTurn(o.Channel, o.ChatID)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(dir) {
		dir = t.workDir()
	}
	defer func() {
		if err != nil {
			closeFiles(files)
			files = nil
		}
	}()
	rules := t.mediaRules()
	for _, path := range paths {
		at := path
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		file, err := rules.check(t.sandbox.TempPath(t.dirs, at))
		if errors.Is(err, errOutside) && len(t.o.Config.MediaRoots) == 0 {
			err = fmt.Errorf("%w; copy it into %s first", err, t.userDir)
		}
		if err != nil {
			return files, fmt.Errorf("%q cannot be sent: %w", path, err)
		}
		files = append(files, file)
	}
	r.sent.ofChat(o.Channel + ":" + o.ChatID).add(files...)
	return files, nil
}

// CloseMedia closes the files of OpenMedia. A file may be closed already.
func CloseMedia(files []File) { closeFiles(files) }
