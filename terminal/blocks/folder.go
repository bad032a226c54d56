package blocks

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/atomicfile"
	"nanobot/internal/lazyregexp"
	"nanobot/internal/nofollow"
	"nanobot/terminal"
)

// The subfolders of folderName, which is in the chat's folder.
const (
	folderName    = "blocks"
	sessionsName  = "sessions"
	outboxName    = "outbox"
	inboxName     = "inbox"
	processedName = "processed" // in the inbox
	copiesName    = "copies"
	readName      = "read" // one empty file per message that was read
)

// maxSessions limits the sessions per chat on disk. The oldest are removed first.
const maxSessions = 100

// folder has the session files of one chat. The agent's commands can create symbolic links in it,
// so every folder is opened without following them.
type folder struct {
	path                                               string
	sessions, outbox, inbox, processed, copiesOf, read *os.Root
}

// openFolder opens the sessions folder in the chat's folder, and creates it if necessary.
func openFolder(userDir string) (*folder, error) {
	f := &folder{path: filepath.Join(userDir, folderName)}
	if err := f.open(userDir); err != nil {
		f.close()
		return nil, fmt.Errorf("open folder of sessions: %w", err)
	}
	return f, nil
}

func (f *folder) open(userDir string) error {
	user, err := os.OpenRoot(userDir)
	if err != nil {
		return err
	}
	defer func() { _ = user.Close() }()
	base, err := openSubfolder(user, folderName)
	if err != nil {
		return err
	}
	defer func() { _ = base.Close() }()
	for _, sub := range []struct {
		name string
		root **os.Root
	}{
		{sessionsName, &f.sessions},
		{outboxName, &f.outbox},
		{inboxName, &f.inbox},
		{copiesName, &f.copiesOf},
		{readName, &f.read},
	} {
		if *sub.root, err = openSubfolder(base, sub.name); err != nil {
			return err
		}
	}
	f.processed, err = openSubfolder(f.inbox, processedName)
	return err
}

// openSubfolder opens a folder and creates it if necessary.
func openSubfolder(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := nofollow.OpenSubfolder(parent, name)
	if !errors.Is(err, nofollow.ErrNotFolder) {
		return root, err
	}
	// A command of the agent has replaced it by something else, which must not make the chat
	// unusable.
	if err := parent.Rename(name, name+".aside-"+rand.Text()); err != nil {
		return nil, err
	}
	if err := parent.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	return nofollow.OpenSubfolder(parent, name)
}

func (f *folder) close() {
	for _, root := range []*os.Root{f.sessions, f.outbox, f.inbox, f.processed, f.copiesOf, f.read} {
		if root != nil {
			_ = root.Close()
		}
	}
}

// openCopies opens the folder of a session's saved copies.
func (f *folder) openCopies(session string) (*os.Root, error) {
	return openSubfolder(f.copiesOf, session)
}

// writeFile replaces a file atomically, also with regard to crashes. With sync the file also
// survives a power failure.
func writeFile(root *os.Root, name string, content []byte, sync bool) error {
	for _, at := range []string{name, name + ".tmp"} {
		if info, err := root.Lstat(at); err == nil && info.IsDir() {
			_ = root.RemoveAll(at) // a command of the agent may have created it
		}
	}
	err := atomicfile.ReplaceVia(root, name, name+".tmp", func(f *os.File) error {
		_, err := f.Write(content)
		if err == nil && sync {
			err = f.Sync()
		}
		return err
	})
	if err == nil && sync {
		err = syncFolder(root)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// syncFolder makes renames in a folder survive a power failure.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// errTooLarge means that a file exceeds the limit of bytes.
var errTooLarge = errors.New("too large")

// readFile reads a regular file of at most limit bytes.
func readFile(root *os.Root, name string, limit int) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(content) > limit {
		err = errTooLarge
	}
	return content, err
}

// newID returns an ID that no session of the chat has.
func (f *folder) newID() string {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		id := hex.EncodeToString(b[:])
		if _, err := f.sessions.Lstat(sessionFile(id)); errors.Is(err, fs.ErrNotExist) {
			return id
		}
	}
}

func sessionFile(id string) string { return id + ".json" }

// saveSession writes the session file, as writeFile does.
func (f *folder) saveSession(s *session, sync bool) error {
	content, err := terminal.EncodeLine(s)
	if err != nil {
		return fmt.Errorf("encode session: %w", err)
	}
	return writeFile(f.sessions, sessionFile(s.ID), content, sync)
}

// maxSessionFile limits the session files that are read.
const maxSessionFile = 32 << 20

// sessionName matches the names of session files.
var sessionName = lazyregexp.New(`^([0-9a-f]{8})\.json$`)

// loadSessions returns the sessions of the chat, newest first. Files that are not valid sessions
// are ignored.
func (f *folder) loadSessions() ([]*session, error) {
	entries, err := fs.ReadDir(f.sessions.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var all []*session
	for _, e := range entries {
		name := sessionName().FindStringSubmatch(e.Name())
		if name == nil {
			continue
		}
		content, err := readFile(f.sessions, e.Name(), maxSessionFile)
		s := &session{}
		if err != nil || json.Unmarshal(content, s) != nil || s.ID != name[1] {
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	return all, nil
}

// prune removes the files of the oldest sessions beyond maxSessions.
func (f *folder) prune(newestFirst []*session) {
	for _, s := range newestFirst[min(len(newestFirst), maxSessions):] {
		// Errors are ignored, because the next session tries again.
		_ = f.copiesOf.RemoveAll(s.ID)
		for _, root := range []*os.Root{f.outbox, f.processed, f.inbox} {
			names, _ := fs.Glob(root.FS(), s.ID+"_seq*")
			for _, name := range names {
				_ = root.Remove(name)
			}
		}
		_ = f.sessions.Remove(sessionFile(s.ID))
	}
}

// roundFile returns the name of a round's outbox, and of its response in the inbox.
func roundFile(session string, sequence int) string {
	return fmt.Sprintf("%s_seq%04d.txt", session, sequence)
}

// moveToProcessed moves a response out of the inbox.
func (f *folder) moveToProcessed(r response) error {
	name := cmp.Or(r.savedAs, r.name)
	if info, err := f.processed.Lstat(name); err == nil && info.IsDir() {
		_ = f.processed.RemoveAll(name) // a folder would make the rename fail
	}
	err := f.inbox.Rename(r.name, processedName+"/"+name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // moved before a crash
		return fmt.Errorf("move response: %w", err)
	}
	return nil
}
