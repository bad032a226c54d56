// Package inbox puts the files that people send into the folders of their chats. Agents write there
// as well, so what is done in a folder stays in it, whatever links they leave.
package inbox

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

// unfinished is what a file is called until it is complete.
const unfinished = ".download-"

// Inbox is where the files of all chats go.
type Inbox struct {
	folder  func(chat string) (*os.Root, error)
	mu      sync.Mutex      // held while a file gets its name
	cleared map[string]bool // the folders in which nothing of an earlier run is left
}

// New returns an inbox whose folders, named by absolute paths, are made and opened by a function.
func New(folder func(chat string) (*os.Root, error)) *Inbox {
	return &Inbox{folder: folder, cleared: map[string]bool{}}
}

// Folder is that of one chat.
type Folder struct {
	in   *Inbox
	root *os.Root
}

// Open returns the folder of a chat, which must be closed. What an earlier run has left there
// unfinished is removed.
func (b *Inbox) Open(chat string) (*Folder, error) {
	root, err := b.folder(chat)
	if err != nil {
		return nil, fmt.Errorf("folder of chat: %w", err)
	}
	f := &Folder{b, root}
	if err := f.clear(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

func (f *Folder) clear() error {
	f.in.mu.Lock()
	defer f.in.mu.Unlock()
	if f.in.cleared[f.root.Name()] {
		return nil
	}
	files, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range files {
		if strings.HasPrefix(e.Name(), unfinished) {
			_ = f.root.Remove(e.Name()) // it takes room and does no other harm
		}
	}
	f.in.cleared[f.root.Name()] = true
	return nil
}

// Close ends the use of a folder.
func (f *Folder) Close() error { return f.root.Close() }

// Find returns the path of a file that is there already: it was saved before we died, or before it
// was quoted.
func (f *Folder) Find(name string, size int64) (path string, ok bool) {
	has, err := f.size(name)
	return f.path(name), err == nil && has == size
}

// Save has a file written, and returns its path. It appears under its name when it is complete. If
// a file of its length has that name already, as when a message and a reply to it come together,
// that is the one; if another has, a number is put behind the name.
func (f *Folder) Save(name string, write func(io.Writer) error) (path string, err error) {
	part := unfinished + rand.Text()
	to, err := f.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer f.root.Remove(part) //nolint:errcheck // it has another name by then, or nobody needs it
	if err := errors.Join(write(to), to.Sync(), to.Close()); err != nil {
		return "", err
	}
	return f.publish(part, name)
}

// publish gives a complete file its name.
func (f *Folder) publish(part, name string) (path string, err error) {
	f.in.mu.Lock()
	defer f.in.mu.Unlock()
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

// size is how long a regular file is; -1 is something else.
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
