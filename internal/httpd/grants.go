package httpd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// idLength is how many digits an ID has. An ID is the start of a hash, and does not let anyone sign
// in.
const idLength = 10

// The kinds of grant.
const (
	LinkGrant    = "link"
	BrowserGrant = "browser"
)

// Grant is an unused link or a signed-in browser.
type Grant struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind"`
	User     string     `json:"user"`
	Role     Role       `json:"role"`
	Created  time.Time  `json:"created"`
	LastSeen *time.Time `json:"last_seen,omitempty"` // for a browser, to the minute
	Expires  time.Time  `json:"expires"`

	hash  string // hash of the link's code or the browser's session
	value string // value of the record
}

// Grants makes one-time links, and lists and revokes links and browser sessions, whether or not the
// daemon runs.
type Grants struct {
	Records Records
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// List returns the valid links and the signed-in browsers, sorted by user and age.
func (g Grants) List(ctx context.Context) ([]Grant, error) {
	all, err := g.links(ctx)
	if err != nil {
		return nil, err
	}
	browsers, err := g.browsers(ctx)
	if err != nil {
		return nil, err
	}
	all = append(all, browsers...)
	slices.SortFunc(all, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.User, b.User), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

func (g Grants) links(ctx context.Context) ([]Grant, error) {
	values, err := g.Records.ListRecords(ctx, linkPrefix)
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	var all []Grant
	for key, value := range values {
		var k link
		if json.Unmarshal([]byte(value), &k) != nil || !k.valid(g.now()) {
			continue
		}
		hash := strings.TrimPrefix(key, linkPrefix)
		all = append(all, Grant{
			ID: shortID(hash), Kind: LinkGrant, User: k.User, Role: k.Role, Created: k.Expires.Add(-LinkLifetime),
			Expires: k.Expires, hash: hash, value: value,
		})
	}
	return all, nil
}

func (g Grants) browsers(ctx context.Context) ([]Grant, error) {
	values, err := g.Records.ListRecords(ctx, sessionPrefix)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	out, err := g.Records.ListRecords(ctx, signedOutPrefix)
	if err != nil {
		return nil, fmt.Errorf("list ended sessions: %w", err)
	}
	var all []Grant
	for key, value := range values {
		var s sessionRecord
		hash := strings.TrimPrefix(key, sessionPrefix)
		if json.Unmarshal([]byte(value), &s) != nil || !g.now().Before(s.Expires) || out[signedOutPrefix+hash] != "" {
			continue
		}
		all = append(all, Grant{
			ID: shortID(hash), Kind: BrowserGrant, User: s.User, Role: s.Role, Created: s.Created, LastSeen: &s.Seen,
			Expires: s.Expires, hash: hash,
		})
	}
	return all, nil
}

// SignedIn reports whether the session with a hash, which SignIn returns, has neither ended nor
// expired.
func (g Grants) SignedIn(ctx context.Context, hash string) (bool, error) {
	value, err := g.Records.LoadRecord(ctx, sessionPrefix+hash)
	if err != nil || value == "" {
		return false, err
	}
	ended, err := g.Records.LoadRecord(ctx, signedOutPrefix+hash)
	var s sessionRecord
	_ = json.Unmarshal([]byte(value), &s) // a damaged record has expired
	return ended == "" && err == nil && g.now().Before(s.Expires), err
}

// shortID returns the ID by which people refer to a link or a session.
func shortID(hash string) string { return hash[:min(idLength, len(hash))] }

// Everybody is the argument of Revoke for all links and all browsers.
const Everybody = "*"

// Revoke revokes the link or browser session with an ID, or those of a user, or those of Everybody,
// and returns them. It returns none if no ID and no user matches. A running daemon ends the event
// streams of revoked browsers within a second.
func (g Grants) Revoke(ctx context.Context, who string) ([]Grant, error) {
	all, err := g.List(ctx)
	if err != nil {
		return nil, err
	}
	chosen := func(c Grant) bool { return c.User == who || who == Everybody }
	if slices.ContainsFunc(all, func(c Grant) bool { return c.ID == who }) {
		chosen = func(c Grant) bool { return c.ID == who }
	}
	var revoked []Grant
	// Links are revoked first: a session is recorded before its link is used up, so a browser that
	// signs in meanwhile is found below.
	links, err := g.links(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if !chosen(l) {
			continue
		}
		ok, err := g.Records.SwapRecord(ctx, linkPrefix+l.hash, l.value, "")
		if err != nil {
			return revoked, fmt.Errorf("revoke link %s: %w", l.ID, err)
		}
		if ok {
			revoked = append(revoked, l)
		}
	}
	browsers, err := g.browsers(ctx)
	if err != nil {
		return revoked, err
	}
	browsers = slices.DeleteFunc(browsers, func(b Grant) bool { return !chosen(b) })
	if len(browsers) == 0 {
		return revoked, nil
	}
	ended := map[string]time.Time{}
	for _, b := range browsers {
		ended[b.hash] = b.Expires
	}
	if err := recordSignedOut(ctx, g.Records, ended); err != nil {
		return revoked, err
	}
	_ = removeExpired(ctx, g.Records, g.now()) // repeated at the next call
	return append(revoked, browsers...), nil
}
