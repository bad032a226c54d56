package acp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"nanobot/internal/atomicfile"
	"nanobot/terminal"
)

// writeFile answers fs/write_text_file, if permit does not refuse the call; nil permits all.
func writeFile(p terminal.ExecEnv, params json.RawMessage, permit func(ownCall) *rpcError) (any, *rpcError) {
	var ask struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, invalid("%s", err)
	}
	if ask.Content == nil {
		return nil, invalid("content: missing")
	}
	var allow func(*spot) *rpcError
	if permit != nil {
		allow = func(at *spot) *rpcError {
			c := fileCall("edit", "The agent wants to write a file", ask.Path, at)
			c.detail = func(about *tool) { at.showChange(about, *ask.Content) }
			return permit(c)
		}
	}
	at, rerr := permitted(p, ask.Path, allow)
	if rerr != nil {
		return nil, rerr
	}
	defer at.close()
	if err := at.write(*ask.Content); err != nil {
		return nil, fileError(ask.Path, err)
	}
	return struct{}{}, nil
}

// write puts a text in the place of the file in one step: who reads meanwhile sees the old one or
// the new one.
func (s *spot) write(text string) error {
	old, err := s.old()
	if err != nil {
		return err
	}
	if dir := filepath.Dir(s.rel); dir != "." {
		if err := s.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	return atomicfile.Replace(s.root, s.rel, func(f *os.File) error {
		if old != nil {
			if err := atomicfile.CopyAccess(f, old); err != nil {
				return err
			}
		}
		_, err := f.WriteString(text)
		return err
	})
}

// old returns what is known of the file that is to be replaced, nil if there is none. One that
// could not be written to is not replaced either.
func (s *spot) old() (fs.FileInfo, error) {
	f, err := s.root.OpenFile(s.rel, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.EISDIR):
		return nil, errors.New("a folder, not a file")
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if err := regular(f); err != nil {
		return nil, err
	}
	return f.Stat()
}
