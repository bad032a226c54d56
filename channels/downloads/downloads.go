// Package downloads saves the files that people send in the folders of their chats. Agents can
// write to these folders, so it never follows a symbolic link out of one. It knows nothing about
// the networks that the files come from.
package downloads

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// partialPrefix starts the name of a file until its download is complete.
const partialPrefix = ".download-"

// Folders opens the download folders of chats.
type Folders struct {
	open    func(chat string) (*os.Root, error)
	mu      sync.Mutex      // held while a file is renamed to its final name
	cleared map[string]bool // folders whose partial downloads of an earlier process are removed
}

// New returns the folders that a function creates and opens. Their roots have absolute paths.
func New(open func(chat string) (*os.Root, error)) *Folders {
	return &Folders{open: open, cleared: map[string]bool{}}
}

// Folder is the download folder of one chat.
type Folder struct {
	all  *Folders
	root *os.Root
}

// Open returns the folder of a chat, which the caller closes. Partial downloads of an earlier
// process are removed.
func (a *Folders) Open(chat string) (*Folder, error) {
	root, err := a.open(chat)
	if err != nil {
		return nil, fmt.Errorf("folder of chat: %w", err)
	}
	f := &Folder{a, root}
	if err := f.removePartials(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// removePartials removes partial downloads, once for each folder.
func (f *Folder) removePartials() error {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if f.all.cleared[f.root.Name()] {
		return nil
	}
	files, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range files {
		if strings.HasPrefix(e.Name(), partialPrefix) {
			_ = f.root.Remove(e.Name()) // it wastes disk space and does no other harm
		}
	}
	f.all.cleared[f.root.Name()] = true
	return nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Find returns the path of a file that was saved before, by an earlier process or for an earlier
// message.
func (f *Folder) Find(name string, size int64) (path string, ok bool) {
	has, err := f.size(name)
	return f.path(name), err == nil && has == size
}

// Save writes a file and returns its path. The file gets its name when it is complete. A file of
// the same name and length is taken for the same file, as when a message and a reply to it arrive
// together; otherwise a number is added to the name.
func (f *Folder) Save(name string, write func(io.Writer) error) (path string, err error) {
	part := partialPrefix + rand.Text()
	to, err := f.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer f.root.Remove(part) //nolint:errcheck // it was renamed, or nobody needs it
	if err := errors.Join(write(to), to.Sync(), to.Close()); err != nil {
		return "", err
	}
	return f.publish(part, name)
}

// publish renames a complete file to its final name.
func (f *Folder) publish(part, name string) (path string, err error) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	ours, err := f.size(part)
	if err != nil {
		return "", err
	}
	ext := filepath.Ext(name)
	for i, try := 2, name; ; i++ {
		theirs, err := f.size(try)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := f.root.Rename(part, try); err != nil {
				return "", err
			}
			return f.path(try), f.sync()
		case err != nil:
			return "", err
		case ours == theirs:
			return f.path(try), nil
		}
		try = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext)
	}
}

func (f *Folder) path(name string) string { return filepath.Join(f.root.Name(), name) }

// size returns the length of a regular file, and -1 for anything else.
func (f *Folder) size(name string) (int64, error) {
	info, err := f.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return -1, err
	}
	return info.Size(), nil
}

// sync makes names durable.
func (f *Folder) sync() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
