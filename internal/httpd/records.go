package httpd

import (
	"crypto/sha256"
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

// SessionFolder is where in the state the records of browser sessions are: a file for each, named
// by the hash of the session, whose time of change is when the session was last used. The cookie
// alone lets a browser in; records only tell operators who is in.
const SessionFolder = "sessions"

// hashForm is a file's name in SessionFolder and LinkFolder.
var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// records are the files of browser sessions.
type records struct{ folder string }

// record is the content of a session's file.
type record struct {
	Session string    `json:"session"` // of no use without the cookie's seal
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

func hashName(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (f records) path(session string) string { return filepath.Join(f.folder, hashName(session)) }

// write records a session that was last used now.
func (f records) write(id Identity, created, now time.Time) error {
	content, err := json.Marshal(record{id.session, id.User, id.Role, created, id.Expires})
	if err != nil {
		return err
	}
	if err := writeFile(f.path(id.session), content); err != nil {
		return fmt.Errorf("write session: %w", err)
	}
	return f.touch(id.session, now)
}

func (f records) touch(session string, now time.Time) error {
	return os.Chtimes(f.path(session), now, now)
}

func (f records) remove(session string) error {
	if err := os.Remove(f.path(session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove session: %w", err)
	}
	return nil
}

// found is a record with what its file tells.
type found struct {
	record
	name string
	seen time.Time
}

// list returns the records of sessions that have not expired, and removes the others. A file that
// is no record is left alone.
func (f records) list(now time.Time) ([]found, error) {
	entries, err := os.ReadDir(f.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var all []found
	for _, e := range entries {
		if !hashForm.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		one := found{name: e.Name()}
		path := filepath.Join(f.folder, e.Name())
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was ended meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		if json.Unmarshal(content, &one.record) != nil || hashName(one.Session) != one.name {
			continue
		}
		if !now.Before(one.Expires) {
			_ = os.Remove(path) // tried again next time
			continue
		}
		if info, err := e.Info(); err == nil {
			one.seen = info.ModTime()
		}
		all = append(all, one)
	}
	return all, nil
}
