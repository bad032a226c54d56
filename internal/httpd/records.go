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

// Records are named values that outlive the process, and that a command can read and change beside
// the daemon. The gateway's store implements them; what a method has changed is durable when it
// returns nil.
type Records interface {
	// LoadRecord returns the value of a key, or "".
	LoadRecord(ctx context.Context, key string) (string, error)
	// ListRecords returns the keys that begin with a prefix, and their values.
	ListRecords(ctx context.Context, prefix string) (map[string]string, error)
	// SaveRecords replaces the values of keys in one step; "" removes a key.
	SaveRecords(ctx context.Context, values map[string]string) error
	// SwapRecord replaces the value of a key if it is the old one, and reports whether it was.
	SwapRecord(ctx context.Context, key, old, value string) (bool, error)
	// InitRecords is SaveRecords that does nothing if a key is there already, and reports whether
	// it did something.
	InitRecords(ctx context.Context, unless string, values map[string]string) (bool, error)
}

// The keys of records. Links and sessions are named by the hash of their secret, so that who can
// read the records still has none.
const (
	cookieKey     = "http/key"
	linkPrefix    = "http/link/"
	sessionPrefix = "http/session/"
	outPrefix     = "http/out/" // sessions that were ended, with the time until which their cookies would be good
)

// record is what operators are shown of a browser session. The cookie alone lets a browser in.
type record struct {
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Seen    time.Time `json:"seen"`
}

func hashName(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// encode is the value of a record.
func encode(content any) (string, error) {
	b, err := json.Marshal(content)
	return string(b), err
}

// recordSession records a session that was last used now.
func recordSession(ctx context.Context, r Records, id Identity, created, now time.Time) error {
	value, err := encode(record{id.User, id.Role, created, id.Expires, now})
	if err == nil {
		err = r.SaveRecords(ctx, map[string]string{sessionPrefix + hashName(id.session): value})
	}
	if err != nil {
		return fmt.Errorf("record session: %w", err)
	}
	return nil
}

// touchSession records that a session is in use. A session without a record gets one: it began
// before records were kept.
func touchSession(ctx context.Context, r Records, id Identity, now time.Time) error {
	key := sessionPrefix + hashName(id.session)
	value, err := r.LoadRecord(ctx, key)
	if err != nil {
		return err
	}
	one := record{User: id.User, Role: id.Role, Created: id.Expires.Add(-sessionLife), Expires: id.Expires}
	if value != "" {
		_ = json.Unmarshal([]byte(value), &one) // what cannot be read is written anew
	}
	one.Seen = now
	next, err := encode(one)
	if err != nil {
		return err
	}
	_, err = r.SwapRecord(ctx, key, value, next) // unless it was ended meanwhile
	return err
}

// endSessions ends sessions, each with the time until which its cookie would be good, by their
// hashes.
func endSessions(ctx context.Context, r Records, ended map[string]time.Time) error {
	values := map[string]string{}
	for hash, expires := range ended {
		values[sessionPrefix+hash], values[outPrefix+hash] = "", expires.UTC().Format(time.RFC3339Nano)
	}
	if err := r.SaveRecords(ctx, values); err != nil {
		return fmt.Errorf("write who signed out: %w", err)
	}
	return nil
}

// tidy removes the records of what has expired.
func tidy(ctx context.Context, r Records, now time.Time) error {
	var errs []error
	old := map[string]string{}
	for _, prefix := range []string{linkPrefix, sessionPrefix, outPrefix} {
		values, err := r.ListRecords(ctx, prefix)
		errs = append(errs, err)
		for key, value := range values {
			if expires, ok := expiry(key, value); ok && !now.Before(expires) {
				old[key] = ""
			}
		}
	}
	if len(old) > 0 {
		errs = append(errs, r.SaveRecords(ctx, old))
	}
	return errors.Join(errs...)
}

// expiry is when a record is of no use any more.
func expiry(key, value string) (time.Time, bool) {
	if strings.HasPrefix(key, outPrefix) {
		t, err := time.Parse(time.RFC3339Nano, value)
		return t, err == nil
	}
	var any struct {
		Expires time.Time `json:"expires"`
	}
	err := json.Unmarshal([]byte(value), &any)
	return any.Expires, err == nil
}
