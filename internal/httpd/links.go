package httpd

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// LinkLife is how long a link is good for.
	LinkLife = 15 * time.Minute
	// LinkFolder is where in the state open links are. It has a file for each link that is open.
	// Its name is the code's hash, so that who can read it still has no code.
	LinkFolder = "links"
)

// userForm is what a user's name may be; it stands in a cookie.
var userForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// codeForm is what a code looks like. It keeps names of files apart from what strangers ask for.
var codeForm = regexp.MustCompile(`^[A-Z2-7]{26,}$`)

// Links makes and takes one-time links. They are files, so that a command can make one beside the
// daemon that takes it.
type Links struct {
	// State is the folder that the daemon keeps its state in.
	State string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// link is the content of a link's file.
type link struct {
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
}

// Make returns the code of a new link for a user, who is somebody new if there is no name. It also
// clears away links that were never used.
func (l Links) Make(user string, role Role) (code string, err error) {
	if user == "" {
		user = string(role)
		if role != Operator {
			user = "guest-" + strings.ToLower(rand.Text()[:8])
		}
	}
	switch {
	case !role.Valid():
		return "", fmt.Errorf("role: must be chat or operator (got %q)", role)
	case !userForm.MatchString(user):
		return "", fmt.Errorf("user: must be 1 to 40 letters, digits, - or _ (got %q)", user)
	case !role.goesWith(user):
		return "", fmt.Errorf("user: %q has the chats of operators and scripts, which the role %s must not see: choose another name", user, role)
	}
	l.clear()
	code = rand.Text() // at least 128 bits
	content, err := json.Marshal(link{user, role, l.now().Add(LinkLife)})
	if err != nil {
		return "", err
	}
	if err := writeFile(l.path(code), content); err != nil {
		return "", fmt.Errorf("write link: %w", err)
	}
	return code, nil
}

// Look tells whom a link lets in. It reports false for one that is unknown, used or too old.
func (l Links) Look(code string) (Identity, bool, error) {
	if !codeForm.MatchString(code) {
		return Identity{}, false, nil
	}
	content, err := os.ReadFile(l.path(code))
	if errors.Is(err, fs.ErrNotExist) {
		return Identity{}, false, nil
	}
	if err != nil {
		return Identity{}, false, fmt.Errorf("read link: %w", err)
	}
	var k link
	if err := json.Unmarshal(content, &k); err != nil {
		return Identity{}, false, fmt.Errorf("read link: %w", err)
	}
	return Identity{User: k.User, Role: k.Role}, k.good(l.now()), nil
}

// good tells whether a link can be used.
func (k link) good(now time.Time) bool {
	return k.Role.Valid() && k.Role.goesWith(k.User) && userForm.MatchString(k.User) && now.Before(k.Expires)
}

// Take uses up a link that Look has found good. It reports false when somebody else did.
func (l Links) Take(code string) (bool, error) {
	err := os.Remove(l.path(code)) // of several who try, this lets one pass
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take link: %w", err)
	}
	return true, nil
}

// clear removes links that are too old. Whatever goes wrong: they are not good any more.
func (l Links) clear() {
	folder := filepath.Join(l.State, LinkFolder)
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && l.now().Sub(info.ModTime()) > 2*LinkLife {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// ID is by which Grants knows the link with a code.
func (l Links) ID(code string) string { return hashName(code)[:idLength] }

func (l Links) path(code string) string {
	return filepath.Join(l.State, LinkFolder, hashName(code))
}

func (l Links) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}
