package httpd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"nanobot/internal/lazyregexp"
)

// LinkLifetime is how long a link is valid.
const LinkLifetime = 15 * time.Minute

// userPattern matches valid usernames. They are part of a cookie, so dots are not allowed.
var userPattern = lazyregexp.New(`^[A-Za-z0-9_-]{1,40}$`)

// codePattern matches the code of a link, as crypto/rand.Text makes it.
var codePattern = lazyregexp.New(`^[A-Z2-7]{26,}$`)

// link is the record of an unused link.
type link struct {
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
}

// CheckUserName returns an error if a text cannot be the name of a user.
func CheckUserName(name string) error {
	if !userPattern().MatchString(name) {
		return errors.New("must be 1 to 40 letters, digits, - or _")
	}
	return nil
}

// Make returns the code of a new link for a user. Without a name, a chat user gets a random one and
// an operator is named "operator". Make also removes expired links.
func (g Grants) Make(ctx context.Context, user string, role Role) (code string, err error) {
	if user == "" {
		user = string(role)
		if role != Operator {
			user = "user-" + strings.ToLower(rand.Text()[:8])
		}
	}
	switch {
	case !role.Valid():
		return "", fmt.Errorf("role: must be chat or operator (got %q)", role)
	case CheckUserName(user) != nil:
		return "", fmt.Errorf("user: %w (got %q)", CheckUserName(user), user)
	case !role.allowsUser(user):
		return "", fmt.Errorf("user: %q is reserved for operators and scripts; with the role %s choose another name", user,
			role)
	}
	_ = removeExpired(ctx, g.Records, g.now()) // an error is harmless: expired links are refused anyway
	code = rand.Text()                         // at least 128 bits
	value, err := encodeRecord(link{user, role, g.now().Add(LinkLifetime)})
	if err == nil {
		err = g.Records.SaveRecords(ctx, map[string]string{linkKey(code): value})
	}
	if err != nil {
		return "", fmt.Errorf("write link: %w", err)
	}
	return code, nil
}

// Lookup returns the user of a link. It reports false if the link is unknown, used or expired.
func (g Grants) Lookup(ctx context.Context, code string) (Identity, bool, error) {
	if !codePattern().MatchString(code) {
		return Identity{}, false, nil
	}
	value, err := g.Records.LoadRecord(ctx, linkKey(code))
	if err != nil || value == "" {
		return Identity{}, false, err
	}
	var k link
	if err := json.Unmarshal([]byte(value), &k); err != nil {
		return Identity{}, false, fmt.Errorf("read link: %w", err)
	}
	return Identity{User: k.User, Role: k.Role}, k.valid(g.now()), nil
}

// valid reports whether a link can be used.
func (k link) valid(now time.Time) bool {
	return k.Role.Valid() && k.Role.allowsUser(k.User) && userPattern().MatchString(k.User) && now.Before(k.Expires)
}

// Consume uses up a link that Lookup has found valid. It reports false if the link is used up
// already.
func (g Grants) Consume(ctx context.Context, code string) (bool, error) {
	value, err := g.Records.LoadRecord(ctx, linkKey(code))
	if err == nil && value != "" {
		return g.Records.SwapRecord(ctx, linkKey(code), value, "") // of several callers, only one succeeds
	}
	return false, err
}

// ID returns the ID of the link with a code.
func (g Grants) ID(code string) string { return hashSecret(code)[:idLength] }

func linkKey(code string) string { return linkPrefix + hashSecret(code) }

func (g Grants) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}
