package gateway

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"nanobot/terminal"
)

// retain copies the files that the protocol itself has written, and removes when the frame was
// shown, into the chat's folder: whoever is shown only their paths must find them there later.
func (g *Direct) retain(chat string, f terminal.Frame, log *zap.Logger) terminal.Frame {
	var kept []terminal.File
	for _, file := range f.Checked {
		if f.ProtocolDir != "" && filepath.Dir(file.Path) == f.ProtocolDir {
			path, err := g.writeToChat(chat, filepath.Base(file.Path), file.Open)
			if err != nil {
				log.Warn("file of the agent not kept", zap.Error(err))
				f.Text = strings.TrimLeft(f.Text+fmt.Sprintf("\n⚠ %q could not be kept in the chat's folder.", filepath.Base(file.Path)), "\n")
				continue
			}
			file.Path = path
		}
		kept = append(kept, file)
	}
	f.Checked = kept
	return f
}

// writeToChat writes a file into the chat's folder, under its own name or with a number behind it,
// and returns its path.
func (g *Direct) writeToChat(chat, name string, content io.Reader) (path string, err error) {
	root, err := g.Runner.UserRoot(chat)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	to, name, err := createNew(root, filepath.Base(name))
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, content)
	if err = errors.Join(err, to.Close()); err != nil {
		_ = root.Remove(name)
		return "", err
	}
	return filepath.Join(root.Name(), name), nil
}

// createNew creates a file that is not there yet: name.ext, name-2.ext and so on. Nothing that has
// the name is opened, links least of all.
func createNew(root *os.Root, name string) (*os.File, string, error) {
	ext := filepath.Ext(name)
	for i, try := 2, name; ; i++ {
		f, err := root.OpenFile(try, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, try, err
		}
		try = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext)
	}
}
