package httpd

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"nanobot/internal/lazyregexp"
)

// The files of earlier versions, which stored links and sessions in the state folder.
const (
	KeyFile       = "http.key"
	SignedOutFile = "http.out"
	SignedOutLock = "http.lock"
	LinkFolder    = "links"
	SessionFolder = "sessions"
)

// hashPattern matches the file names in SessionFolder and LinkFolder.
var hashPattern = lazyregexp.New(`^[0-9a-f]{64}$`)

// Import moves the files of an earlier version into the records, in one transaction, and removes
// them. If records exist already, the files are left over from an interrupted import and out of
// date, so they are only removed. Root may import the state of another user, so symbolic links out
// of the state are not followed.
func Import(ctx context.Context, r Records, state string) error {
	root, err := os.OpenRoot(state)
	if err != nil {
		return fmt.Errorf("import links and sessions: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing is lost if it fails
	key, err := r.LoadRecord(ctx, cookieKey)
	if err != nil {
		return fmt.Errorf("import links and sessions: %w", err)
	}
	e := legacyState{state: root, values: map[string]string{}}
	err = errors.Join(e.readKey(), e.readSignedOut(), e.readFolder(LinkFolder, e.addLink),
		e.readFolder(SessionFolder, e.addSession))
	if key != "" {
		e.remove()
		return nil
	}
	if err != nil {
		return fmt.Errorf("import links and sessions: %w", err)
	}
	if len(e.files) == 0 {
		return nil
	}
	if e.values[cookieKey] == "" {
		e.values[cookieKey] = newKey()
	}
	if _, err := r.InitRecords(ctx, cookieKey, e.values); err != nil {
		return fmt.Errorf("import links and sessions: %w", err)
	}
	e.remove()
	return nil
}

// legacyState is the content of the files of an earlier version.
type legacyState struct {
	state  *os.Root
	values map[string]string
	files  []string
}

// read returns the content of a regular file, nil if there is none.
func (e *legacyState) read(name string) ([]byte, error) {
	info, err := e.state.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return nil, nil
	case err != nil:
		return nil, err
	}
	content, err := e.state.ReadFile(name)
	if err == nil {
		e.files = append(e.files, name)
	}
	return content, err
}

func (e *legacyState) readKey() error {
	key, err := e.read(KeyFile)
	switch {
	case err != nil || key == nil:
		return err
	case len(key) != keySize:
		return fmt.Errorf("%s is damaged; remove it, and then everybody needs a new link",
			filepath.Join(e.state.Name(), KeyFile))
	}
	e.values[cookieKey] = hex.EncodeToString(key)
	return nil
}

func (e *legacyState) readSignedOut() error {
	content, err := e.read(SignedOutFile)
	if err != nil || content == nil {
		return err
	}
	out := map[string]time.Time{}
	if err := json.Unmarshal(content, &out); err != nil {
		return fmt.Errorf("%s is damaged; remove it together with %s, and then everybody needs a new link: %w",
			filepath.Join(e.state.Name(), SignedOutFile), KeyFile, err)
	}
	for session, expires := range out {
		e.values[signedOutPrefix+hashSecret(session)] = expires.UTC().Format(time.RFC3339Nano)
	}
	return nil
}

// readFolder reads the files of a folder that are named by a hash, and ignores others.
func (e *legacyState) readFolder(name string, add func(hash string, content []byte, changed time.Time)) error {
	info, err := e.state.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return nil
	case err != nil:
		return err
	}
	entries, err := fs.ReadDir(e.state.FS(), name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !hashPattern().MatchString(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) { // imported by another process meanwhile
			continue
		}
		if err != nil {
			return err
		}
		content, err := e.read(filepath.Join(name, entry.Name()))
		if err != nil {
			return err
		}
		add(entry.Name(), content, info.ModTime())
	}
	return nil
}

func (e *legacyState) addLink(hash string, content []byte, _ time.Time) {
	var k link
	if json.Unmarshal(content, &k) == nil {
		e.values[linkPrefix+hash] = string(content)
	}
}

// addSession adds a session. It was last used when its file was modified.
func (e *legacyState) addSession(hash string, content []byte, changed time.Time) {
	var s struct {
		sessionRecord
		Session string `json:"session"`
	}
	if json.Unmarshal(content, &s) != nil || hashSecret(s.Session) != hash {
		return
	}
	s.Seen = changed
	if value, err := encodeRecord(s.sessionRecord); err == nil {
		e.values[sessionPrefix+hash] = value
	}
}

// remove removes the files that were read, and their folders if these are empty.
func (e *legacyState) remove() {
	for _, name := range append(e.files, SignedOutLock, LinkFolder, SessionFolder) {
		_ = e.state.Remove(name) // it may be missing, or a folder that is not empty
	}
}
