package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Subscription is a browser to which notifications are pushed.
type Subscription struct {
	Endpoint string // the URL at the browser's push service
	Owner    string
	SignIn   string // the sign-in of the browser
	P256DH   string // the browser's public key, and the secret shared with it
	Auth     string
	Origin   string // of the page
	Detailed bool   // with the beginning of the message
}

// MaxSubscriptions is how many browsers of one person get notifications.
const MaxSubscriptions = 5

// Subscribe stores a subscription in place of the one with the same endpoint. The oldest ones of
// the owner go when there are more than MaxSubscriptions.
func (h *History) Subscribe(ctx context.Context, s Subscription) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		_, err := tx.Exec("DELETE FROM push_subscriptions WHERE endpoint = $1", s.Endpoint)
		if err != nil {
			return nil, err
		}
		var next int64 // orders what is stored within a millisecond
		err = tx.QueryRow("SELECT coalesce(max(created), 0) + 1 FROM push_subscriptions WHERE owner = $1",
			s.Owner).Scan(&next)
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(`INSERT INTO push_subscriptions (endpoint, owner, sign_in, p256dh, auth, origin, detailed, created)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, s.Endpoint, s.Owner, s.SignIn, s.P256DH, s.Auth, s.Origin,
			map[bool]int64{true: 1}[s.Detailed], max(next, h.now().UnixMilli()))
		if err == nil {
			_, err = tx.Exec(`DELETE FROM push_subscriptions WHERE owner = $1 AND endpoint NOT IN
				(SELECT s.endpoint FROM push_subscriptions AS s WHERE s.owner = $1 ORDER BY s.created DESC LIMIT $2)`,
				s.Owner, MaxSubscriptions)
		}
		return nil, err
	})
}

// Unsubscribe removes a subscription of an owner.
func (h *History) Unsubscribe(ctx context.Context, owner, endpoint string) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		_, err := tx.Exec("DELETE FROM push_subscriptions WHERE endpoint = $1 AND owner = $2", endpoint, owner)
		return nil, err
	})
}

// EndSignIn removes the subscriptions of a sign-in. Those whose browser has signed in again stay.
func (h *History) EndSignIn(ctx context.Context, signIn string) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		_, err := tx.Exec("DELETE FROM push_subscriptions WHERE sign_in = $1", signIn)
		return nil, err
	})
}

// Subscriptions returns the subscriptions of an owner, or with all set of everybody.
func (h *History) Subscriptions(ctx context.Context, owner string, all bool) (found []Subscription, err error) {
	rows, err := h.read.QueryContext(ctx, `SELECT endpoint, owner, sign_in, p256dh, auth, origin, detailed
		FROM push_subscriptions WHERE owner = $1 OR $2`, owner, all)
	if err != nil {
		return nil, fmt.Errorf("read subscriptions: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var s Subscription
		var detailed int64
		if err := rows.Scan(&s.Endpoint, &s.Owner, &s.SignIn, &s.P256DH, &s.Auth, &s.Origin, &detailed); err != nil {
			return nil, fmt.Errorf("read subscription: %w", err)
		}
		s.Detailed = detailed != 0
		found = append(found, s)
	}
	return found, rows.Err()
}

// PushKeys returns the key pair that identifies this server to push services. It stores the one
// that generate returns if there is none.
func (h *History) PushKeys(ctx context.Context, generate func() (private, public string, err error)) (
	private, public string, err error,
) {
	const query = "SELECT private_key, public_key FROM push_keys"
	err = h.read.QueryRowContext(ctx, query).Scan(&private, &public)
	if !errors.Is(err, sql.ErrNoRows) {
		return private, public, err
	}
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		err := tx.QueryRow(query).Scan(&private, &public)
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if private, public, err = generate(); err != nil {
			return nil, err
		}
		_, err = tx.Exec("INSERT INTO push_keys (public_key, private_key) VALUES ($1, $2)", public, private)
		return nil, err
	})
	return private, public, err
}
