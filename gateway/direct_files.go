package gateway

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// saveProtocolFiles copies files that the protocol itself has written into the chat's folder. The
// protocol removes them after the frame was shown, and the person sees only their paths.
func (g *Direct) saveProtocolFiles(chat channels.Chat, f terminal.Frame, log *zap.Logger) terminal.Frame {
	var kept []terminal.File
	for _, file := range f.Checked {
		if f.ProtocolDir != "" && filepath.Dir(file.Path) == f.ProtocolDir {
			path, err := g.writeToChat(chat, f.NameOf(file), file.Open)
			if err != nil {
				log.Warn("file of the agent not kept", zap.Error(err))
				f.Text = g.addNotSaved(f.Text, filepath.Base(file.Path))
				continue
			}
			file.Path = path
		}
		kept = append(kept, file)
	}
	f.Checked = kept
	return f
}

// addNotSaved adds to a text that a file of it could not be saved.
func (g *Direct) addNotSaved(text, file string) string {
	return strings.TrimLeft(text+"\n"+g.Words.Text(words.ChatFileNotSaved, strconv.Quote(file)), "\n")
}

// writeToChat writes a file into the chat's folder, with a number behind its name if the name is
// taken, and returns its path.
func (g *Direct) writeToChat(chat channels.Chat, name string, content io.Reader) (path string, err error) {
	root, err := g.Runner.UserRoot(chat.Channel, chat.ID)
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

// createNew creates a new file: name.ext, name-2.ext and so on. It never opens an existing file and
// does not follow symbolic links.
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
