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
	"regexp"
	"time"
)

// The files in which earlier versions kept in the state what is in records now.
const (
	KeyFile       = "http.key"
	OutFile       = "http.out"
	OutLock       = "http.lock"
	LinkFolder    = "links"
	SessionFolder = "sessions"
)

// hashForm is a file's name in SessionFolder and LinkFolder.
var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Import moves the files of an earlier version into the records, in one step, and removes them. It
// does that once: files that are found when there are records already were left by an import that
// was cut off, and what they say may not be true any more. What cannot be removed now is removed
// next time. Root imports the state of another user, so no symbolic link leads out of it.
func Import(ctx context.Context, r Records, state string) error {
	root, err := os.OpenRoot(state)
	if err != nil {
		return fmt.Errorf("import links and sessions: %w", err)
	}
	defer func() { _ = root.Close() }() // what was changed is changed
	key, err := r.LoadRecord(ctx, cookieKey)
	if err != nil {
		return fmt.Errorf("import links and sessions: %w", err)
	}
	e := earlier{state: root, values: map[string]string{}}
	err = errors.Join(e.readKey(), e.readOut(), e.readFolder(LinkFolder, e.addLink), e.readFolder(SessionFolder, e.addSession))
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

// earlier is what the files of an earlier version say.
type earlier struct {
	state  *os.Root
	values map[string]string
	files  []string
}

// read returns the content of a regular file, nil if there is none.
func (e *earlier) read(name string) ([]byte, error) {
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

func (e *earlier) readKey() error {
	key, err := e.read(KeyFile)
	switch {
	case err != nil || key == nil:
		return err
	case len(key) != keySize:
		return fmt.Errorf("%s is damaged; remove it, and everybody needs a new link", filepath.Join(e.state.Name(), KeyFile))
	}
	e.values[cookieKey] = hex.EncodeToString(key)
	return nil
}

func (e *earlier) readOut() error {
	content, err := e.read(OutFile)
	if err != nil || content == nil {
		return err
	}
	out := map[string]time.Time{}
	if err := json.Unmarshal(content, &out); err != nil {
		return fmt.Errorf("%s is damaged; remove it together with %s, and everybody needs a new link: %w", filepath.Join(e.state.Name(), OutFile), KeyFile, err)
	}
	for session, expires := range out {
		e.values[outPrefix+hashName(session)] = expires.UTC().Format(time.RFC3339Nano)
	}
	return nil
}

// readFolder reads the files of a folder that are named by a hash. Others are left alone.
func (e *earlier) readFolder(name string, add func(hash string, content []byte, changed time.Time)) error {
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
		if !hashForm.MatchString(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) { // another process has imported it meanwhile
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

func (e *earlier) addLink(hash string, content []byte, _ time.Time) {
	var k link
	if json.Unmarshal(content, &k) == nil {
		e.values[linkPrefix+hash] = string(content)
	}
}

// addSession takes a session, which was last used when its file was changed.
func (e *earlier) addSession(hash string, content []byte, changed time.Time) {
	var s struct {
		record
		Session string `json:"session"`
	}
	if json.Unmarshal(content, &s) != nil || hashName(s.Session) != hash {
		return
	}
	s.Seen = changed
	if value, err := encode(s.record); err == nil {
		e.values[sessionPrefix+hash] = value
	}
}

// remove removes what was read, and the folders if nothing else is in them.
func (e *earlier) remove() {
	for _, name := range append(e.files, OutLock, LinkFolder, SessionFolder) {
		_ = e.state.Remove(name) // it may not be there, or hold something else
	}
}
