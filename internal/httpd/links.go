package httpd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// LinkLife is how long a link is good for.
const LinkLife = 15 * time.Minute

// userForm is what a user's name may be; it stands in a cookie.
var userForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// codeForm is what a code looks like.
var codeForm = regexp.MustCompile(`^[A-Z2-7]{26,}$`)

// Links makes and takes one-time links. A command can make one beside the daemon that takes it.
type Links struct {
	Records Records
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// link is a link that was not used yet.
type link struct {
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
}

// Make returns the code of a new link for a user, who is somebody new if there is no name. It also
// clears away links that were never used.
func (l Links) Make(ctx context.Context, user string, role Role) (code string, err error) {
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
	_ = tidy(ctx, l.Records, l.now()) // whatever goes wrong: they are not good any more
	code = rand.Text()                // at least 128 bits
	value, err := encode(link{user, role, l.now().Add(LinkLife)})
	if err == nil {
		err = l.Records.SaveRecords(ctx, map[string]string{linkKey(code): value})
	}
	if err != nil {
		return "", fmt.Errorf("write link: %w", err)
	}
	return code, nil
}

// Look tells whom a link lets in. It reports false for one that is unknown, used or too old.
func (l Links) Look(ctx context.Context, code string) (Identity, bool, error) {
	if !codeForm.MatchString(code) {
		return Identity{}, false, nil
	}
	value, err := l.Records.LoadRecord(ctx, linkKey(code))
	if err != nil || value == "" {
		return Identity{}, false, err
	}
	var k link
	if err := json.Unmarshal([]byte(value), &k); err != nil {
		return Identity{}, false, fmt.Errorf("read link: %w", err)
	}
	return Identity{User: k.User, Role: k.Role}, k.good(l.now()), nil
}

// good tells whether a link can be used.
func (k link) good(now time.Time) bool {
	return k.Role.Valid() && k.Role.goesWith(k.User) && userForm.MatchString(k.User) && now.Before(k.Expires)
}

// Take uses up a link that Look has found good. It reports false when somebody else did.
func (l Links) Take(ctx context.Context, code string) (bool, error) {
	value, err := l.Records.LoadRecord(ctx, linkKey(code))
	if err == nil && value != "" {
		return l.Records.SwapRecord(ctx, linkKey(code), value, "") // of several who try, this lets one pass
	}
	return false, err
}

// ID is by which Grants knows the link with a code.
func (l Links) ID(code string) string { return hashName(code)[:idLength] }

func linkKey(code string) string { return linkPrefix + hashName(code) }

func (l Links) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}
