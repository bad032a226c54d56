package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// Allowed reports whether a user was admitted by pairing.
func (s access) Allowed(ctx context.Context, channel, user string) (bool, error) {
	return readValue[bool](ctx, s.state, fmt.Sprintf("look up user %s of %s", user, channel),
		"SELECT EXISTS (SELECT 1 FROM pairing WHERE channel = ? AND user = ? AND code = '')", channel, user)
}

// normalizeCode returns a code in its stored form. Operators may type it in lower case or with
// spaces around it.
func normalizeCode(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// Accept admits the person to whom a code was given.
func (s access) Accept(ctx context.Context, code string, ttl time.Duration) (store.Pairing, bool, error) {
	now := s.now()
	return changedPair(ctx, s.state, "accept a pairing code", func(t *tx) (store.Pairing, bool) {
		pairing, found := queryPairing(t, "code = ? AND code <> '' AND since > ?", normalizeCode(code), micros(now.Add(-ttl)))
		if found {
			admitPairing(t, &pairing, now)
		}
		return pairing, found
	})
}

// Admit admits a user by ID.
func (s access) Admit(ctx context.Context, p store.Person, ttl time.Duration) (store.Pairing, bool, error) {
	now := s.now()
	return changedPair(ctx, s.state, fmt.Sprintf("admit user %s of %s", p.User, p.Channel),
		func(t *tx) (store.Pairing, bool) {
			deleteCodes(t, p.Channel, now.Add(-ttl))
			pairing, found := queryPairing(t, "channel = ? AND user = ?", p.Channel, p.User)
			if !found {
				pairing = store.Pairing{Channel: p.Channel, User: channels.User{ID: p.User}}
			}
			admit := !found || pairing.Code != ""
			if admit {
				admitPairing(t, &pairing, now)
			}
			return pairing, admit
		})
}

// queryPairing reads the pairing that a condition finds.
func queryPairing(t *tx, condition string, args ...any) (store.Pairing, bool) {
	for _, pairing := range queryAllTx(t, scanPairing, selectPairing+condition, args...) {
		return pairing, true
	}
	return store.Pairing{}, false
}

// admitPairing marks a user as admitted. A user who has written is greeted later, and the stored
// message must then be received, so its ID is removed from the refused ones.
func admitPairing(t *tx, g *store.Pairing, now time.Time) {
	g.Code, g.Since = "", fromMicros(micros(now))
	welcome, message := 0, ""
	if g.Message != nil {
		welcome, message = 1, prepared.JSON(g.Message)
		t.exec("DELETE FROM refused WHERE chat = ? AND message = ?", g.Message.Chat.String(), g.Message.ID)
	}
	t.exec("INSERT OR REPLACE INTO pairing (channel, user, name, username, code, since, message, welcome) VALUES (?, ?, "+
		"?, ?, '', ?, ?, ?)",
		g.Channel, g.User.ID, g.User.Name, g.User.Username, micros(now), message, welcome)
}

// PairingsToGreet returns the admitted users who were not told yet, or whose message was not
// handled yet.
func (s access) PairingsToGreet(ctx context.Context, p store.Person) ([]store.Pairing, error) {
	return readAll(ctx, s.state, "read pairings to greet", scanPairing,
		selectPairing+"welcome > 0 AND (?1 = '' AND ?2 = '' OR channel = ?1 AND user = ?2) ORDER BY channel, user", p.Channel,
		p.User)
}

// Greet stores the greeting of an admitted user in the outbox, once.
func (s access) Greet(ctx context.Context, p store.Person, parts []channels.Outgoing) (bool, error) {
	now := s.now()
	outbounds := prepared.NewOutbounds(parts, s.member)
	return changed(ctx, s.state, fmt.Sprintf("greet user %s of %s", p.User, p.Channel), func(t *tx) bool {
		if t.execCount("UPDATE pairing SET welcome = 2 WHERE channel = ? AND user = ? AND code = '' AND welcome = 1",
			p.Channel, p.User) == 0 {
			return false
		}
		insertOutbounds(t, outbounds, 0, now)
		return true
	})
}

// ForgetMessage removes the stored message of an admitted user.
func (s access) ForgetMessage(ctx context.Context, p store.Person) error {
	return s.change(ctx, fmt.Sprintf("forget the message of user %s of %s", p.User, p.Channel), func(t *tx) {
		t.exec("UPDATE pairing SET welcome = 0, message = '' WHERE channel = ? AND user = ? AND welcome = 2", p.Channel,
			p.User)
	})
}

// Pairings returns all users who were admitted by pairing or wait for it.
func (s access) Pairings(ctx context.Context) ([]store.Pairing, error) {
	return readAll(ctx, s.state, "read pairings", scanPairing, selectPairing+"TRUE ORDER BY channel, user")
}

// selectPairing is followed by a condition on rows of pairing.
const selectPairing = "SELECT channel, user, name, username, code, since, message, welcome FROM pairing WHERE "

func scanPairing(scan func(...any) error) (g store.Pairing, err error) {
	var welcome int
	err = scan(&g.Channel, &g.User.ID, &g.User.Name, &g.User.Username, &g.Code, timeColumn{&g.Since},
		jsonColumn{&g.Message, true}, &welcome)
	g.Greeted = welcome == 2
	return g, wrapError("pairing of user %s of %s", err, g.User.ID, g.Channel)
}
