package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Allowed reports whether a user was admitted by pairing.
func (s *Store) Allowed(ctx context.Context, channel, user string) (bool, error) {
	var one int
	found, err := s.queryRow(ctx, "SELECT 1 FROM pairing WHERE channel = ? AND user = ? AND code = ''", []any{channel, user}, &one)
	return found, wrapError("look up user %s of %s", err, user, channel)
}

// normalizeCode returns a code in its stored form. Operators may type it in lower case or with
// spaces around it.
func normalizeCode(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// Accept admits the person to whom a code was given.
func (s *Store) Accept(ctx context.Context, code string, ttl time.Duration) (store.Pairing, bool, error) {
	var g store.Pairing
	var found bool
	now := s.now()
	err := s.change(ctx, "accept a pairing code", func(t *tx) (err error) {
		g, found, err = queryFirst(t.queryRows, scanPairing, "SELECT "+pairingColumns+" FROM pairing WHERE code = ? AND code <> '' AND since > ?",
			[]any{normalizeCode(code), micros(now.Add(-ttl))})
		if err != nil || !found {
			return err
		}
		return t.admitPairing(&g, now)
	})
	if err != nil {
		return store.Pairing{}, false, err
	}
	return g, found, nil
}

// Admit admits a user by ID.
func (s *Store) Admit(ctx context.Context, p store.Person, ttl time.Duration) (store.Pairing, bool, error) {
	var g store.Pairing
	var admitted bool
	now := s.now()
	err := s.change(ctx, fmt.Sprintf("admit user %s of %s", p.User, p.Channel), func(t *tx) (err error) {
		if err := t.deleteCodes(p.Channel, now.Add(-ttl)); err != nil {
			return err
		}
		var found bool
		g, found, err = queryFirst(t.queryRows, scanPairing, "SELECT "+pairingColumns+" FROM pairing WHERE channel = ? AND user = ?", []any{p.Channel, p.User})
		if err != nil {
			return err
		}
		if !found {
			g = store.Pairing{Channel: p.Channel, User: channels.User{ID: p.User}}
		}
		if admitted = !found || g.Code != ""; !admitted {
			return nil
		}
		return t.admitPairing(&g, now)
	})
	if err != nil {
		return store.Pairing{}, false, err
	}
	return g, admitted, nil
}

// admitPairing marks a user as admitted. A user who has written is greeted later, and the stored
// message must then be received, so its ID is removed from the refused ones.
func (t *tx) admitPairing(g *store.Pairing, now time.Time) error {
	g.Code, g.Since = "", fromMicros(micros(now))
	welcome, message := 0, ""
	if g.Message != nil {
		welcome, message = 1, encodeJSON(g.Message)
		if err := t.exec("DELETE FROM refused WHERE chat = ? AND message = ?", g.Message.Chat.String(), g.Message.ID); err != nil {
			return err
		}
	}
	return t.exec("INSERT OR REPLACE INTO pairing (channel, user, name, username, code, since, message, welcome) VALUES (?, ?, ?, ?, '', ?, ?, ?)",
		g.Channel, g.User.ID, g.User.Name, g.User.Username, micros(now), message, welcome)
}

// PairingsToGreet returns the admitted users who were not told yet, or whose message was not
// handled yet.
func (s *Store) PairingsToGreet(ctx context.Context, p store.Person) ([]store.Pairing, error) {
	query, args := "SELECT "+pairingColumns+" FROM pairing WHERE welcome > 0", []any(nil)
	if p != (store.Person{}) {
		query, args = query+" AND channel = ? AND user = ?", []any{p.Channel, p.User}
	}
	pairings, err := queryAll(ctx, s, scanPairing, query+" ORDER BY channel, user", args...)
	return pairings, wrapError("read pairings to greet", err)
}

// Greet stores the greeting of an admitted user in the outbox, once.
func (s *Store) Greet(ctx context.Context, p store.Person, parts []channels.Outgoing) (bool, error) {
	now := s.now()
	outbounds := s.prepareEach(parts)
	var n int
	err := s.change(ctx, fmt.Sprintf("greet user %s of %s", p.User, p.Channel), func(t *tx) (err error) {
		n, err = t.execCount("UPDATE pairing SET welcome = 2 WHERE channel = ? AND user = ? AND code = '' AND welcome = 1", p.Channel, p.User)
		if err != nil || n == 0 {
			return err
		}
		return t.insertOutbounds(outbounds, 0, now)
	})
	return n > 0 && err == nil, err
}

// ForgetMessage removes the stored message of an admitted user.
func (s *Store) ForgetMessage(ctx context.Context, p store.Person) error {
	return s.change(ctx, fmt.Sprintf("forget the message of user %s of %s", p.User, p.Channel), func(t *tx) error {
		return t.exec("UPDATE pairing SET welcome = 0, message = '' WHERE channel = ? AND user = ? AND welcome = 2", p.Channel, p.User)
	})
}

// Pairings returns all users who were admitted by pairing or wait for it.
func (s *Store) Pairings(ctx context.Context) ([]store.Pairing, error) {
	pairings, err := queryAll(ctx, s, scanPairing, "SELECT "+pairingColumns+" FROM pairing ORDER BY channel, user")
	return pairings, wrapError("read pairings", err)
}

const pairingColumns = "channel, user, name, username, code, since, message, welcome"

func scanPairing(scan func(...any) error) (store.Pairing, error) {
	var u channels.User
	var g store.Pairing
	var since int64
	var message string
	var welcome int
	if err := scan(&g.Channel, &u.ID, &u.Name, &u.Username, &g.Code, &since, &message, &welcome); err != nil {
		return store.Pairing{}, err
	}
	g.User, g.Since, g.Greeted = u, fromMicros(since), welcome == 2
	if message == "" {
		return g, nil
	}
	g.Message = &channels.Incoming{}
	if err := json.Unmarshal([]byte(message), g.Message); err != nil {
		return store.Pairing{}, fmt.Errorf("message of user %s of %s: %w", u.ID, g.Channel, err)
	}
	return g, nil
}
