package httpd

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// sessionLife is how long a cookie is good for.
	sessionLife = 30 * 24 * time.Hour
	keySize     = 32
)

// cookies make and check the cookie by which a browser is known. It says who, until when and which
// of theirs it is, and is sealed, so that nothing about it has to be kept here and it survives a
// restart. A start without a key makes a new one, for which none is good.
type cookies struct {
	name string
	key  []byte
}

// newCookies names the cookie after its key: browsers do not tell servers on different ports of one
// machine apart, and two of us there would overwrite each other's.
func newCookies(key []byte) cookies {
	sum := sha256.Sum256(append([]byte("name"), key...))
	return cookies{"nanobot-" + hex.EncodeToString(sum[:4]), key}
}

func (c cookies) seal(words string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(words))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// write sets the cookie of a session.
func (c cookies) write(w http.ResponseWriter, r *http.Request, id Identity) {
	words := fmt.Sprintf("%s.%s.%d.%s", id.Role, id.User, id.Expires.Unix(), id.session)
	c.set(w, r, words+"."+c.seal(words), id.Expires)
}

// clear makes the browser forget the cookie.
func (c cookies) clear(w http.ResponseWriter, r *http.Request) { c.set(w, r, "", time.Unix(1, 0)) }

func (c cookies) set(w http.ResponseWriter, r *http.Request, value string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name: c.name, Value: value, Path: "/", Expires: expires, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// read returns whose cookie comes with a request.
func (c cookies) read(r *http.Request, now time.Time) (Identity, bool) {
	for _, cookie := range r.CookiesNamed(c.name) {
		if id, ok := c.open(cookie.Value, now); ok {
			return id, true
		}
	}
	return Identity{}, false
}

// forged tells whether a request carries a cookie of ours that we never made. One that has expired
// or was ended is not forged.
func (c cookies) forged(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(c.name) {
		if _, ok := c.sealed(cookie.Value); !ok && cookie.Value != "" {
			return true
		}
	}
	return false
}

// was tells whether a request carries a cookie that we made.
func (c cookies) was(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(c.name) {
		if _, ok := c.sealed(cookie.Value); ok {
			return true
		}
	}
	return false
}

// sealed returns what a cookie says, if the seal is ours.
func (c cookies) sealed(value string) (words string, ok bool) {
	end := strings.LastIndexByte(value, '.')
	if end < 0 || !hmac.Equal([]byte(c.seal(value[:end])), []byte(value[end+1:])) {
		return "", false
	}
	return value[:end], true
}

func (c cookies) open(value string, now time.Time) (Identity, bool) {
	said, ok := c.sealed(value)
	if !ok {
		return Identity{}, false
	}
	words := strings.Split(said, ".")
	if len(words) != 4 {
		return Identity{}, false
	}
	unix, err := strconv.ParseInt(words[2], 10, 64)
	id := Identity{User: words[1], Role: Role(words[0]), Expires: time.Unix(unix, 0), session: words[3]}
	return id, err == nil && id.Role.Valid() && now.Before(id.Expires)
}

// loadKey reads the key, or makes one.
func loadKey(ctx context.Context, r Records) ([]byte, error) {
	value, err := r.LoadRecord(ctx, cookieKey)
	if err == nil && value == "" {
		if _, err = r.InitRecords(ctx, cookieKey, map[string]string{cookieKey: newKey()}); err == nil {
			value, err = r.LoadRecord(ctx, cookieKey)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("load the key of cookies: %w", err)
	}
	key, err := hex.DecodeString(value)
	if err != nil || len(key) != keySize {
		return nil, errors.New("load the key of cookies: it is damaged")
	}
	return key, nil
}

func newKey() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	return hex.EncodeToString(key)
}
