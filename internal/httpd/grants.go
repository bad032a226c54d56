package httpd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// idLength is how many digits an ID has. It is the beginning of a hash, and lets nobody in.
const idLength = 10

// The kinds of grant.
const (
	LinkGrant    = "link"
	BrowserGrant = "browser"
)

// Grant is a link that was not used yet, or a browser that is signed in.
type Grant struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind"`
	User     string     `json:"user"`
	Role     Role       `json:"role"`
	Created  time.Time  `json:"created"`
	LastSeen *time.Time `json:"last_seen,omitempty"` // of a browser, to the minute
	Expires  time.Time  `json:"expires"`

	session string // of a browser
	path    string
}

// Grants lists and revokes links and browser sessions. It works beside the daemon, and without it.
type Grants struct {
	// State is the folder that the daemon keeps its state in.
	State string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// List returns the links that can still be used and the browsers that are signed in, by user and
// age.
func (g Grants) List() ([]Grant, error) {
	all, err := g.links()
	if err != nil {
		return nil, err
	}
	browsers, err := g.browsers()
	if err != nil {
		return nil, err
	}
	all = append(all, browsers...)
	slices.SortFunc(all, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.User, b.User), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

func (g Grants) links() ([]Grant, error) {
	l := Links(g)
	folder := filepath.Join(g.State, LinkFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	var all []Grant
	for _, e := range entries {
		if !hashForm.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(folder, e.Name())
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was used meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list links: %w", err)
		}
		var k link
		if json.Unmarshal(content, &k) != nil || !k.good(l.now()) {
			continue
		}
		all = append(all, Grant{
			ID: e.Name()[:idLength], Kind: LinkGrant, User: k.User, Role: k.Role, Created: k.Expires.Add(-LinkLife), Expires: k.Expires, path: path,
		})
	}
	return all, nil
}

func (g Grants) browsers() ([]Grant, error) {
	now := Links(g).now()
	out, _, err := readOut(filepath.Join(g.State, OutFile))
	if err != nil {
		return nil, err
	}
	sessions, err := records{filepath.Join(g.State, SessionFolder)}.list(now)
	if err != nil {
		return nil, err
	}
	var all []Grant
	for _, s := range sessions {
		if _, ended := out[s.Session]; ended {
			continue
		}
		all = append(all, Grant{
			ID: s.name[:idLength], Kind: BrowserGrant, User: s.User, Role: s.Role, Created: s.Created, LastSeen: &s.seen, Expires: s.Expires, session: s.Session,
		})
	}
	return all, nil
}

// Revoke withdraws the link or ends the browser session with an ID, or all of a user's, and returns
// them. It returns none if there is neither such an ID nor such a user. A daemon that runs lets a
// browser finish nothing: its event stream ends within a second.
func (g Grants) Revoke(who string) ([]Grant, error) {
	all, err := g.List()
	if err != nil {
		return nil, err
	}
	chosen := func(c Grant) bool { return c.User == who }
	if slices.ContainsFunc(all, func(c Grant) bool { return c.ID == who }) {
		chosen = func(c Grant) bool { return c.ID == who }
	}
	var revoked []Grant
	// Links come first: a browser that comes in by one is recorded before the link is used up, so
	// it is found below.
	links, err := g.links()
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if !chosen(l) {
			continue
		}
		if err := os.Remove(l.path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return revoked, fmt.Errorf("withdraw link %s: %w", l.ID, err)
		}
		revoked = append(revoked, l)
	}
	browsers, err := g.browsers()
	if err != nil {
		return revoked, err
	}
	ended := map[string]time.Time{}
	for _, b := range browsers {
		if chosen(b) {
			ended[b.session] = b.Expires
			revoked = append(revoked, b)
		}
	}
	if len(ended) == 0 {
		return revoked, nil
	}
	if _, _, err := endSessions(filepath.Join(g.State, OutFile), ended, Links(g).now()); err != nil {
		return nil, err
	}
	f := records{filepath.Join(g.State, SessionFolder)}
	for session := range ended {
		_ = f.remove(session) // OutFile is what counts
	}
	return revoked, nil
}
