// Package downloads saves the files that people send in the folders of their chats. Agents can
// write to these folders, so it never follows a symbolic link out of one. It knows nothing about
// the networks that the files come from.
package downloads

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/internal/diskspace"
)

// partialPrefix starts the name of a file until its download is complete.
const partialPrefix = ".download-"

// Folders opens the download folders of chats.
type Folders struct {
	open     func(chat string) (*os.Root, error)
	account  string                 // of the channel, with an @ behind it; "": it has no name
	files    channels.ReceivedFiles // nil: there is no limit, and nothing is recorded
	mu       sync.Mutex             // held while a file is renamed to its final name
	cleared  map[string]bool        // folders whose partial downloads of an earlier process are removed
	usage    map[string]*chatUsage  // by chat
	verified map[File]fileStamp     // see Folder.OpenSaved
}

// New returns the folders of a channel that a function creates and opens. Their roots have absolute
// paths. The records of an account with a name have the key ACCOUNT@CHAT, as its folders do.
func New(channel string, open func(chat string) (*os.Root, error)) *Folders {
	all := &Folders{open: open, cleared: map[string]bool{}, usage: map[string]*chatUsage{}, verified: map[File]fileStamp{}}
	if _, account, named := strings.Cut(channel, "."); named {
		all.account = account + "@"
	}
	return all
}

// SetFiles sets the limit and the records of saved files. It must be called before the first file
// is saved.
func (a *Folders) SetFiles(f channels.ReceivedFiles) { a.files = f }

// Folder is the download folder of one chat.
type Folder struct {
	all  *Folders
	chat string // its key in the records
	root *os.Root
}

// File is a file as it was saved.
type File struct {
	Path     string
	Size     int64
	SHA256   string // hexadecimal
	Modified int64  // the time of its last change, in Unix nanoseconds
}

// Open returns the folder of a chat, which the caller closes. Partial downloads of an earlier
// process are removed.
func (a *Folders) Open(chat string) (*Folder, error) {
	root, err := a.open(chat)
	if err != nil {
		return nil, fmt.Errorf("folder of chat: %w", err)
	}
	f := &Folder{a, a.account + chat, root}
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

// Save writes a file. The file gets its name when it is complete. A file of the same name and
// length is taken for the same file, as when a message and a reply to it arrive together; otherwise
// a number is added to the name. Refusal explains the error of a file that does not fit.
func (f *Folder) Save(name string, write func(io.Writer) error) (File, error) {
	part := partialPrefix + rand.Text()
	to, err := f.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return File{}, err
	}
	defer f.root.Remove(part) //nolint:errcheck // it was renamed, or nobody needs it
	hash := sha256.New()
	w := &limitedWriter{to: io.MultiWriter(diskspace.Writer(to), hash), folder: f}
	defer w.release()
	err = write(w)
	if w.err != nil { // the caller may have hidden it in an error of its own
		err = w.err
	}
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return File{}, err
	}
	return f.publish(part, name, File{Size: w.written, SHA256: hex.EncodeToString(hash.Sum(nil))}, w)
}

// publish records a complete file and renames it to its final name.
func (f *Folder) publish(part, name string, file File, w *limitedWriter) (File, error) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	info, err := f.root.Lstat(part)
	if err != nil {
		return File{}, err
	}
	file.Modified = info.ModTime().UnixNano()
	ext := filepath.Ext(name)
	for i, try := 2, name; ; i++ {
		file.Path = f.path(try)
		theirs, err := f.size(try)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// The record comes first: a crash in between leaves the record of a file that does not
			// exist, which means nothing.
			if err := f.record(try, file, time.Now()); err != nil {
				return File{}, err
			}
			if err := f.root.Rename(part, try); err != nil {
				return File{}, err
			}
			w.countComplete()
			return file, f.sync()
		case err != nil:
			return File{}, err
		case file.Size == theirs:
			return file, nil
		}
		try = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext)
	}
}

// Discard removes files that were just saved, and their records; if isNewChat says that the chat
// does not exist, also the folder.
func (f *Folder) Discard(files []File, isNewChat bool) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	for _, file := range files {
		name := filepath.Base(file.Path)
		if f.root.Remove(name) == nil {
			_ = f.forget(name) // a record without a file means nothing
			f.usageOf().recorded -= file.Size
		}
	}
	if isNewChat {
		_ = unix.Rmdir(f.root.Name()) // fails if another message has files in it
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
