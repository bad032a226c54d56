package blocks

import (
	"bytes"
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
	"regexp"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/atomicfile"
	"nanobot/internal/nofollow"
)

// The names of the folders in folderName, which is in the folder of the chat.
const (
	folderName    = "blocks"
	sessionsName  = "sessions"
	outboxName    = "outbox"
	inboxName     = "inbox"
	processedName = "processed" // in the inbox
	copiesName    = "copies"
	readName      = "read" // names the messages that were read
)

// maxSessions is how many sessions of a chat are kept on disk. The oldest go first.
const maxSessions = 100

// folder holds the files of one chat's sessions. The agent's commands may put symbolic links there,
// so every folder is opened without following any.
type folder struct {
	path                                               string
	sessions, outbox, inbox, processed, copiesOf, read *os.Root
}

// openFolder opens the folder of the sessions in the folder of a chat, and creates it if it is not
// there.
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
	base, err := subfolder(user, folderName)
	if err != nil {
		return err
	}
	defer func() { _ = base.Close() }()
	for _, sub := range []struct {
		name string
		root **os.Root
	}{{sessionsName, &f.sessions}, {outboxName, &f.outbox}, {inboxName, &f.inbox}, {copiesName, &f.copiesOf}, {readName, &f.read}} {
		if *sub.root, err = subfolder(base, sub.name); err != nil {
			return err
		}
	}
	f.processed, err = subfolder(f.inbox, processedName)
	return err
}

// subfolder opens a folder, which is created unless it is there.
func subfolder(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := nofollow.OpenSubfolder(parent, name)
	if !errors.Is(err, nofollow.ErrNotFolder) {
		return root, err
	}
	// A command of the agent has put something else there, which must not make the chat unusable.
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

// copies opens the folder of the copies that a session has saved.
func (f *folder) copies(session string) (*os.Root, error) { return subfolder(f.copiesOf, session) }

// writeFile writes a file in one step: a reader sees the former content or the new one, also after
// a crash. With sync it is on disk then, so that it survives a power failure.
func writeFile(root *os.Root, name string, content []byte, sync bool) error {
	for _, at := range []string{name, name + ".tmp"} {
		if info, err := root.Lstat(at); err == nil && info.IsDir() {
			_ = root.RemoveAll(at) // a command of the agent may have put it there
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

// syncFolder has what was renamed in a folder survive a power failure.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// errTooLarge says that a file has more bytes than are read.
var errTooLarge = errors.New("too large")

// readFile reads a regular file of at most so many bytes.
func readFile(root *os.Root, name string, most int) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(content) > most {
		err = errTooLarge
	}
	return content, err
}

// newID returns an id that no session of the chat has.
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
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("encode session: %w", err)
	}
	return writeFile(f.sessions, sessionFile(s.ID), b.Bytes(), sync)
}

// maxSessionFile is the largest session file that is read.
const maxSessionFile = 32 << 20

// sessionName matches the names of session files.
var sessionName = regexp.MustCompile(`^([0-9a-f]{8})\.json$`)

// loadSessions returns the sessions of the chat, the newest first. A file that is no session is
// left out.
func (f *folder) loadSessions() ([]*session, error) {
	entries, err := fs.ReadDir(f.sessions.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var all []*session
	for _, e := range entries {
		name := sessionName.FindStringSubmatch(e.Name())
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

// prune removes the files of the oldest sessions.
func (f *folder) prune(newestFirst []*session) {
	for _, s := range newestFirst[min(len(newestFirst), maxSessions):] {
		// What stays is tried again when the next session begins.
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

// roundFile names the files of a round: the outbox, and the response that the gateway has stored.
func roundFile(session string, sequence int) string {
	return fmt.Sprintf("%s_seq%04d.txt", session, sequence)
}
