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
// was cut off, and what they say may not be true any more.
func Import(ctx context.Context, r Records, state string) error {
	e := earlier{state: state, values: map[string]string{}}
	if err := errors.Join(e.readKey(), e.readOut(), e.readFolder(LinkFolder, e.addLink), e.readFolder(SessionFolder, e.addSession)); err != nil {
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
	return e.remove()
}

// earlier is what the files of an earlier version say.
type earlier struct {
	state  string
	values map[string]string
	files  []string
}

// read returns the content of a file, nil if there is none.
func (e *earlier) read(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		e.files = append(e.files, path)
	}
	return content, err
}

func (e *earlier) readKey() error {
	path := filepath.Join(e.state, KeyFile)
	key, err := e.read(path)
	switch {
	case err != nil || key == nil:
		return err
	case len(key) != keySize:
		return fmt.Errorf("%s is damaged; remove it, and everybody needs a new link", path)
	}
	e.values[cookieKey] = hex.EncodeToString(key)
	return nil
}

func (e *earlier) readOut() error {
	path := filepath.Join(e.state, OutFile)
	content, err := e.read(path)
	if err != nil || content == nil {
		return err
	}
	out := map[string]time.Time{}
	if err := json.Unmarshal(content, &out); err != nil {
		return fmt.Errorf("%s is damaged; remove it together with %s, and everybody needs a new link: %w", path, KeyFile, err)
	}
	for session, expires := range out {
		e.values[outPrefix+hashName(session)] = expires.UTC().Format(time.RFC3339Nano)
	}
	return nil
}

// readFolder reads the files of a folder that are named by a hash. Others are left alone.
func (e *earlier) readFolder(name string, add func(hash string, content []byte, changed time.Time)) error {
	entries, err := os.ReadDir(filepath.Join(e.state, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !hashForm.MatchString(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := e.read(filepath.Join(e.state, name, entry.Name()))
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
func (e *earlier) remove() error {
	var errs []error
	for _, path := range append(e.files, filepath.Join(e.state, OutLock)) {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, name := range []string{LinkFolder, SessionFolder} {
		_ = os.Remove(filepath.Join(e.state, name)) // fails if it holds something else
	}
	return errors.Join(errs...)
}
