package personal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nanobot/channels"
	"nanobot/terminal"
)

// maxCopyName is how many bytes of the end of a file's name its copy has after the hash.
const maxCopyName = 200

// file is a file of the person.
type file struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Copy   string `json:"copy,omitempty"` // its name in the folder of Export

	root  string        // a folder that the path must not leave by a symbolic link
	group channels.Chat // that of a file in the folder of a group
}

// open opens the file, unless it is not a regular one.
func (f file) open() (*os.File, error) {
	root, err := f.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	within, err := filepath.Rel(f.root, f.Path)
	if err != nil {
		return nil, err
	}
	if info, err := root.Lstat(within); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	return root.Open(within)
}

// openRoot opens the folder of the file. An agent may have put a link in its place.
func (f file) openRoot() (*os.Root, error) {
	if info, err := os.Lstat(f.root); err != nil || !info.IsDir() {
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	return os.OpenRoot(f.root)
}

func (f file) remove() error {
	root, err := f.openRoot()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	within, err := filepath.Rel(f.root, f.Path)
	if err == nil {
		err = root.Remove(within)
	}
	return errors.Join(err, root.Close())
}

// files returns the files of the person: those in the folders of their chats, those that they have
// sent to groups, and those of the chat page.
func (s *subject) files(ctx context.Context) (all []file, err error) {
	for _, chat := range s.data.Chats {
		for _, folder := range terminal.ChatFolders(chat.Channel, chat.ID) {
			root := filepath.Join(s.Config.Workspace, folder)
			err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.Type().IsRegular() {
					all = append(all, file{Path: path, root: root})
				}
				return err
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("list the files of %s: %w", chat, err)
			}
		}
	}
	own := map[channels.Chat]bool{}
	for _, chat := range s.data.Chats {
		own[chat] = true
	}
	for _, m := range s.messages {
		chat := m.Incoming.Chat
		root := filepath.Join(s.Config.Workspace, terminal.ChatFolders(chat.Channel, chat.ID)[0])
		for _, path := range m.Incoming.Media {
			if !own[chat] && strings.HasPrefix(path, root+string(filepath.Separator)) {
				all = append(all, file{Path: path, root: root, group: chat})
			}
		}
	}
	if s.History != nil {
		p, err := s.History.ReadPerson(ctx, s.Person.User, s.answers)
		if err != nil {
			return nil, err
		}
		for _, path := range s.History.Files(p.Events) {
			all = append(all, file{Path: path, root: filepath.Dir(path)})
		}
	}
	recorded, err := s.recordedFiles()
	return append(all, recorded...), err
}

// readable adds hashes and sizes, and leaves out files that are gone.
func readable(all []file) (found []file, err error) {
	for _, f := range all {
		content, err := f.open()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		f.Size, err = io.Copy(h, content)
		f.SHA256 = hex.EncodeToString(h.Sum(nil))
		if err = errors.Join(err, content.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Path, err)
		}
		found = append(found, f)
	}
	return found, nil
}

func (s *subject) readFiles(ctx context.Context) (map[string][]json.RawMessage, error) {
	all, err := s.files(ctx)
	if err == nil {
		all, err = readable(all)
	}
	for i, f := range all {
		if s.Files == nil || err != nil {
			break
		}
		base := filepath.Base(f.Path)
		all[i].Copy = f.SHA256[:12] + "-" + strings.ToValidUTF8(base[max(0, len(base)-maxCopyName):], "")
		err = f.copyTo(s.Files, all[i].Copy)
	}
	if err != nil {
		return nil, err
	}
	return encodeAll("files", all)
}

func (f file) copyTo(folder *os.Root, name string) error {
	content, err := f.open()
	if err != nil {
		return err
	}
	defer content.Close()
	to, err := folder.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, content)
	return errors.Join(err, to.Close())
}
