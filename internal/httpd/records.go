package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Records are named values on disk that a command can read and change while the daemon runs. The
// gateway's store implements them; a change is durable when the method returns nil.
type Records interface {
	// LoadRecord returns the value of a key, or "".
	LoadRecord(ctx context.Context, key string) (string, error)
	// ListRecords returns the keys with a prefix, and their values.
	ListRecords(ctx context.Context, prefix string) (map[string]string, error)
	// SaveRecords sets the values of keys in one transaction; "" removes a key.
	SaveRecords(ctx context.Context, values map[string]string) error
	// SwapRecord sets the value of a key if its present value is old, and reports whether it was.
	SwapRecord(ctx context.Context, key, old, value string) (bool, error)
	// InitRecords saves values if the key unless does not exist, and reports whether it saved them.
	InitRecords(ctx context.Context, unless string, values map[string]string) (bool, error)
}

// The keys of records. Links and sessions are named by the hash of their secret, so the records
// alone do not let a reader sign in.
const (
	cookieKey       = "http/key"
	linkPrefix      = "http/link/"
	sessionPrefix   = "http/session/"
	signedOutPrefix = "http/out/" // ended sessions, with the expiry of their cookies
)

// sessionRecord describes a browser session to operators. It does not authenticate; the cookie
// does.
type sessionRecord struct {
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Seen    time.Time `json:"seen"`
}

func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// encodeRecord returns the value of a record.
func encodeRecord(content any) (string, error) {
	b, err := json.Marshal(content)
	return string(b), err
}

// recordSession stores a session that was last used now.
func recordSession(ctx context.Context, r Records, id Identity, created, now time.Time) error {
	value, err := encodeRecord(sessionRecord{id.User, id.Role, created, id.Expires, now})
	if err == nil {
		err = r.SaveRecords(ctx, map[string]string{sessionPrefix + hashSecret(id.session): value})
	}
	if err != nil {
		return fmt.Errorf("record session: %w", err)
	}
	return nil
}

// touchSession stores when a session was last used. It creates a missing record: sessions of
// earlier versions have none.
func touchSession(ctx context.Context, r Records, id Identity, now time.Time) error {
	key := sessionPrefix + hashSecret(id.session)
	value, err := r.LoadRecord(ctx, key)
	if err != nil {
		return err
	}
	s := sessionRecord{User: id.User, Role: id.Role, Created: id.Expires.Add(-sessionLifetime), Expires: id.Expires}
	if value != "" {
		_ = json.Unmarshal([]byte(value), &s) // a damaged record is replaced
	}
	s.Seen = now
	next, err := encodeRecord(s)
	if err != nil {
		return err
	}
	_, err = r.SwapRecord(ctx, key, value, next) // fails if the session was ended meanwhile
	return err
}

// recordSignedOut stores that sessions were ended. It maps the hash of a session to the expiry of
// its cookie.
func recordSignedOut(ctx context.Context, r Records, ended map[string]time.Time) error {
	values := map[string]string{}
	for hash, expires := range ended {
		values[sessionPrefix+hash], values[signedOutPrefix+hash] = "", expires.UTC().Format(time.RFC3339Nano)
	}
	if err := r.SaveRecords(ctx, values); err != nil {
		return fmt.Errorf("store ended sessions: %w", err)
	}
	return nil
}

// removeExpired removes the records of expired links and sessions.
func removeExpired(ctx context.Context, r Records, now time.Time) error {
	var errs []error
	expired := map[string]string{}
	for _, prefix := range []string{linkPrefix, sessionPrefix, signedOutPrefix} {
		values, err := r.ListRecords(ctx, prefix)
		errs = append(errs, err)
		for key, value := range values {
			if expires, ok := expiry(key, value); ok && !now.Before(expires) {
				expired[key] = ""
			}
		}
	}
	if len(expired) > 0 {
		errs = append(errs, r.SaveRecords(ctx, expired))
	}
	return errors.Join(errs...)
}

// expiry returns when a record may be removed.
func expiry(key, value string) (time.Time, bool) {
	if strings.HasPrefix(key, signedOutPrefix) {
		t, err := time.Parse(time.RFC3339Nano, value)
		return t, err == nil
	}
	var timed struct {
		Expires time.Time `json:"expires"`
	}
	err := json.Unmarshal([]byte(value), &timed)
	return timed.Expires, err == nil
}
