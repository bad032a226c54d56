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
	// sessionLifetime is how long a cookie is valid.
	sessionLifetime = 30 * 24 * time.Hour
	keySize         = 32
)

// cookies makes and checks the cookie of a browser. The cookie holds the role, user, expiry and
// session, signed with HMAC-SHA256, so it stays valid after a restart. The server stores only the
// key and the sessions, including ended ones. A new key invalidates all cookies.
type cookies struct {
	name string
	key  []byte
}

// newCookies derives the cookie's name from the key: browsers share cookies between the ports of a
// host, so two bots on one machine would overwrite each other's cookie.
func newCookies(key []byte) cookies {
	sum := sha256.Sum256(append([]byte("name"), key...))
	return cookies{"nanobot-" + hex.EncodeToString(sum[:4]), key}
}

func (c cookies) sign(payload string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// write sets the cookie of a session.
func (c cookies) write(w http.ResponseWriter, r *http.Request, id Identity) {
	payload := fmt.Sprintf("%s.%s.%d.%s", id.Role, id.User, id.Expires.Unix(), id.session)
	c.set(w, r, payload+"."+c.sign(payload), id.Expires)
}

// clear deletes the cookie in the browser.
func (c cookies) clear(w http.ResponseWriter, r *http.Request) { c.set(w, r, "", time.Unix(1, 0)) }

func (c cookies) set(w http.ResponseWriter, r *http.Request, value string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name: c.name, Value: value, Path: "/", Expires: expires, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// read returns the user of the valid cookie of a request.
func (c cookies) read(r *http.Request, now time.Time) (Identity, bool) {
	for _, cookie := range r.CookiesNamed(c.name) {
		if id, ok := c.parse(cookie.Value, now); ok {
			return id, true
		}
	}
	return Identity{}, false
}

// forged reports whether a request has a cookie of our name with a wrong signature. The cookie of
// an expired or ended session is not forged.
func (c cookies) forged(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(c.name) {
		if _, ok := c.verify(cookie.Value); !ok && cookie.Value != "" {
			return true
		}
	}
	return false
}

// hasSigned reports whether a request has a cookie with our signature, valid or expired.
func (c cookies) hasSigned(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(c.name) {
		if _, ok := c.verify(cookie.Value); ok {
			return true
		}
	}
	return false
}

// verify returns the content of a cookie if its signature is right.
func (c cookies) verify(value string) (payload string, ok bool) {
	end := strings.LastIndexByte(value, '.')
	if end < 0 || !hmac.Equal([]byte(c.sign(value[:end])), []byte(value[end+1:])) {
		return "", false
	}
	return value[:end], true
}

func (c cookies) parse(value string, now time.Time) (Identity, bool) {
	payload, ok := c.verify(value)
	if !ok {
		return Identity{}, false
	}
	fields := strings.Split(payload, ".")
	if len(fields) != 4 {
		return Identity{}, false
	}
	unix, err := strconv.ParseInt(fields[2], 10, 64)
	id := Identity{User: fields[1], Role: Role(fields[0]), Expires: time.Unix(unix, 0), session: fields[3]}
	return id, err == nil && id.Role.Valid() && now.Before(id.Expires)
}

// loadKey reads the key of the cookies, or makes one.
func loadKey(ctx context.Context, r Records) ([]byte, error) {
	value, err := r.LoadRecord(ctx, cookieKey)
	if err == nil && value == "" {
		if _, err = r.InitRecords(ctx, cookieKey, map[string]string{cookieKey: newKey()}); err == nil {
			value, err = r.LoadRecord(ctx, cookieKey)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("load the cookie key: %w", err)
	}
	key, err := hex.DecodeString(value)
	if err != nil || len(key) != keySize {
		return nil, errors.New("load the cookie key: it is damaged")
	}
	return key, nil
}

func newKey() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // crypto/rand never fails
	return hex.EncodeToString(key)
}
