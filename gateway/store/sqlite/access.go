package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Allowed says whether a user was let in.
func (s *Store) Allowed(ctx context.Context, channel, user string) (bool, error) {
	var one int
	found, err := s.lookup(ctx, "SELECT 1 FROM guest WHERE channel = ? AND user = ? AND code = ''", []any{channel, user}, &one)
	return found, wrap("look up user %s of %s", err, user, channel)
}

// Knock stores a code for a user who wants in. Who is in already gets none.
func (s *Store) Knock(ctx context.Context, g store.Guest, ttl time.Duration, limit int) (code string, fresh bool, err error) {
	now := s.now()
	if g.Code == "" {
		g.Code = newCode()
	}
	g.Code = spelled(g.Code)
	err = s.change(ctx, fmt.Sprintf("make a code for user %s of %s", g.User.ID, g.Channel), func(t *tx) error {
		code, fresh, err = t.knock(g, now, now.Add(-ttl), limit)
		return err
	})
	if err != nil {
		return "", false, err
	}
	return code, fresh, nil
}

func (t *tx) knock(g store.Guest, now, oldest time.Time, limit int) (string, bool, error) {
	err := t.exec("DELETE FROM guest WHERE channel = ? AND code <> '' AND since <= ?", g.Channel, micros(oldest))
	if err != nil {
		return "", false, err
	}
	var code string
	known, err := t.row("SELECT code FROM guest WHERE channel = ? AND user = ?", []any{g.Channel, g.User.ID}, &code)
	if err != nil || known {
		return code, false, err
	}
	var waiting int
	if _, err := t.row("SELECT count(*) FROM guest WHERE channel = ? AND code <> ''", []any{g.Channel}, &waiting); err != nil || waiting >= limit {
		return "", false, err
	}
	return g.Code, true, t.exec("INSERT INTO guest (channel, user, name, username, code, since) VALUES (?, ?, ?, ?, ?, ?)",
		g.Channel, g.User.ID, g.User.Name, g.User.Username, g.Code, micros(now))
}

// newCode is 8 letters out of 32, of which none is taken for another when read aloud or typed.
func newCode() string {
	const letters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

// spelled is a code as it is stored, however an operator types it.
func spelled(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// Accept lets in whom a code was made for.
func (s *Store) Accept(ctx context.Context, code string, ttl time.Duration) (store.Guest, bool, error) {
	var g store.Guest
	var found bool
	now := s.now()
	err := s.change(ctx, "accept a code", func(t *tx) (err error) {
		g, found, err = first(t.each, scanGuest, "SELECT channel, user, name, username, code, since FROM guest WHERE code = ? AND code <> '' AND since > ?",
			[]any{spelled(code), micros(now.Add(-ttl))})
		if err != nil || !found {
			return err
		}
		g.Code, g.Since = "", moment(micros(now))
		return t.exec("UPDATE guest SET code = '', since = ? WHERE channel = ? AND user = ?", micros(now), g.Channel, g.User.ID)
	})
	if err != nil {
		return store.Guest{}, false, err
	}
	return g, found, nil
}

// Guests returns who was let in or waits.
func (s *Store) Guests(ctx context.Context) ([]store.Guest, error) {
	guests, err := all(ctx, s, scanGuest, "SELECT channel, user, name, username, code, since FROM guest ORDER BY channel, user")
	return guests, wrap("read guests", err)
}

func scanGuest(scan func(...any) error) (store.Guest, error) {
	var u channels.User
	var g store.Guest
	var since int64
	err := scan(&g.Channel, &u.ID, &u.Name, &u.Username, &g.Code, &since)
	g.User, g.Since = u, moment(since)
	return g, err
}

// Revoke forgets a guest.
func (s *Store) Revoke(ctx context.Context, channel, user string) (bool, error) {
	var n int
	err := s.change(ctx, fmt.Sprintf("revoke user %s of %s", user, channel), func(t *tx) (err error) {
		n, err = t.changed("DELETE FROM guest WHERE channel = ? AND user = ?", channel, user)
		return err
	})
	return n > 0 && err == nil, err
}
