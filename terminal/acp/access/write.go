package access

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"

	"nanobot/internal/atomicfile"
	"nanobot/internal/words"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
)

// writeFile implements fs/write_text_file. The file is counted among the changes of the turn.
func (s *Session) writeFile(ctx context.Context, turn *Turn, params json.RawMessage) (any, *rpc.Error) {
	var ask struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	if ask.Content == nil {
		return nil, rpc.InvalidParams("content: missing")
	}
	var shown []view.FileDiff // in a question about this call
	at, rerr := resolvePermittedFile(s.envFor(ask.Path), ask.Path, func(at *agentFile) *rpc.Error {
		c := newFileCall("edit", words.WantsWrite, ask.Path, at)
		c.protected = s.env.Protected.Contain(at.root.Name(), append(at.links, at.path)...)
		c.addDetail = func(about *view.ToolCall) {
			shown = []view.FileDiff{at.diff(*ask.Content)}
			about.Diffs = shown
		}
		c.makes = func(changes []view.FileDiff) bool { return at.makes(changes, *ask.Content) }
		return s.checkPermission(ctx, turn, c)
	})
	if rerr != nil {
		return nil, rerr
	}
	defer at.close()
	if shown != nil && !reflect.DeepEqual(shown[0], at.diff(*ask.Content)) {
		return nil, rpc.Refused("the file has changed since permission was asked")
	}
	if err := at.write(*ask.Content); err != nil {
		return nil, fileError(ask.Path, err)
	}
	if turn != nil {
		turn.view.RecordWrite(ask.Path)
	}
	return struct{}{}, nil
}

// write replaces the file atomically: a concurrent reader sees the old text or the new one.
func (a *agentFile) write(text string) error {
	old, err := a.existing()
	if err != nil {
		return err
	}
	if dir := filepath.Dir(a.rel); dir != "." {
		if err := a.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	return atomicfile.Replace(a.root, a.rel, func(f *os.File) error {
		if old != nil {
			if err := atomicfile.CopyAccess(f, old); err != nil {
				return err
			}
		}
		_, err := f.WriteString(text)
		return err
	})
}

// existing returns the file that is to be replaced, or nil if there is none. A file that is not
// writable is not replaced either, hence the opening for writing.
func (a *agentFile) existing() (fs.FileInfo, error) {
	f, err := a.root.OpenFile(a.rel, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.EISDIR):
		return nil, errors.New("a folder, not a file")
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if err := checkRegular(f); err != nil {
		return nil, err
	}
	return f.Stat()
}
