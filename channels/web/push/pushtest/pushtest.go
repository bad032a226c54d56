// Package pushtest is a push service on loopback for tests, with browsers that subscribe to it. It
// checks what a real one checks (RFC 8030 and 8292) and decrypts as a browser does (RFC 8291).
package pushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// waitTimeout is how long Next waits.
const waitTimeout = 5 * time.Minute

// Push is a request that was right.
type Push struct {
	Path, Topic, Urgency, Subject string
	TTL                           int
	Payload                       string // decrypted
}

// Service is a push service. NewService returns one.
type Service struct {
	URL    string
	Roots  *x509.CertPool
	Server *httptest.Server
	// Answer returns the answer to a request that is right: a status, and the Retry-After header if
	// it is not "". nil means 201. It is set before the first request.
	Answer func(p Push) (status int, retryAfter string)

	t      *testing.T
	pushes chan Push

	mu       sync.Mutex
	browsers map[string]*Browser // by path
}

// Browser has the keys of a subscription.
type Browser struct {
	Endpoint, P256DH, Auth string

	key  *ecdh.PrivateKey
	auth []byte
}

// NewService starts a push service.
func NewService(t *testing.T) *Service {
	t.Helper()
	s := &Service{t: t, pushes: make(chan Push, 1000), browsers: map[string]*Browser{}, Roots: x509.NewCertPool()}
	s.Server = httptest.NewUnstartedServer(s)
	s.Server.EnableHTTP2 = true
	s.Server.StartTLS()
	t.Cleanup(s.Server.Close)
	s.URL = s.Server.URL
	s.Roots.AddCert(s.Server.Certificate())
	return s
}

// NewBrowser returns a browser that has a subscription.
func (s *Service) NewBrowser() *Browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &Browser{key: key, auth: make([]byte, 16)}
	_, _ = rand.Read(b.auth) // never fails
	path := "/push/" + rand.Text()
	b.Endpoint, b.P256DH, b.Auth = s.URL+path, encode(key.PublicKey().Bytes()), encode(b.auth)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers[path] = b
	return b
}

// JSON returns the subscription as a browser sends it, with the field text.
func (b *Browser) JSON(text bool) string {
	return fmt.Sprintf(`{"endpoint": %q, "expirationTime": null, "keys": {"p256dh": %q, "auth": %q}, "text": %t}`,
		b.Endpoint, b.P256DH, b.Auth, text)
}

// Next waits for the next request that was right.
func (s *Service) Next() Push {
	s.t.Helper()
	select {
	case p := <-s.pushes:
		return p
	case <-time.After(waitTimeout):
		s.t.Fatal("nothing was pushed")
		return Push{}
	}
}

// Pending returns the requests that Next has not returned.
func (s *Service) Pending() (all []Push) {
	for len(s.pushes) > 0 {
		all = append(all, <-s.pushes)
	}
	return all
}

// ServeHTTP accepts a push message.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, err := s.read(r)
	if err != nil && r.Context().Err() != nil { // a daemon that stops aborts its requests
		return
	}
	if err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	status, after := http.StatusCreated, ""
	if s.Answer != nil {
		status, after = s.Answer(p)
	}
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	if status >= 300 && status < 400 {
		w.Header().Set("Location", "/push/elsewhere")
	}
	w.WriteHeader(status)
	s.pushes <- p
}

// read checks a request and decrypts its body.
func (s *Service) read(r *http.Request) (p Push, err error) {
	s.mu.Lock()
	b := s.browsers[r.URL.Path]
	s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	ttl, ttlErr := strconv.Atoi(r.Header.Get("TTL"))
	switch {
	case err != nil || b == nil || r.Method != http.MethodPost:
		return p, errors.Join(err, errors.New("no such subscription"))
	case ttlErr != nil || ttl < 0:
		return p, fmt.Errorf("TTL: %w", ttlErr)
	case r.Header.Get("Content-Encoding") != "aes128gcm":
		return p, errors.New("the content is not aes128gcm")
	case len(body) > 4096:
		return p, fmt.Errorf("%d bytes", len(body))
	case len(r.Header.Get("Topic")) > 32:
		return p, errors.New("the topic is too long")
	}
	p = Push{Path: r.URL.Path, Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency"), TTL: ttl}
	if p.Subject, err = checkVAPID(r); err != nil {
		return p, fmt.Errorf("VAPID: %w", err)
	}
	p.Payload, err = b.Decrypt(body)
	return p, err
}

// checkVAPID checks the signature and the claims of a request, and returns its subject.
func checkVAPID(r *http.Request) (subject string, err error) {
	token, key, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 {
		return "", errors.New("malformed header")
	}
	var header struct{ Alg, Typ string }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	if err := errors.Join(decodeJSON(parts[0], &header), decodeJSON(parts[1], &claims)); err != nil {
		return "", err
	}
	public, err := decode(key)
	if err != nil {
		return "", err
	}
	signer, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), public)
	if err != nil {
		return "", err
	}
	signature, err := decode(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	left := time.Until(time.Unix(claims.Exp, 0))
	switch {
	case err != nil || header.Alg != "ES256" || len(signature) != 64:
		return "", errors.New("it is not ES256")
	case !ecdsa.Verify(signer, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])):
		return "", errors.New("wrong signature")
	case claims.Aud != "https://"+r.Host || left <= 0 || left > 24*time.Hour:
		return "", fmt.Errorf("aud %q, exp in %v", claims.Aud, left)
	case !strings.HasPrefix(claims.Sub, "https://") && !strings.HasPrefix(claims.Sub, "mailto:"):
		return "", fmt.Errorf("sub %q", claims.Sub)
	}
	return claims.Sub, nil
}

// Decrypt decrypts a message for the browser (RFC 8188 and 8291).
func (b *Browser) Decrypt(body []byte) (string, error) {
	if len(body) < 21 || int(body[20]) != 65 || len(body) < 86 {
		return "", errors.New("malformed header of the content")
	}
	salt, size, sender := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86]
	key, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return "", err
	}
	secret, err := b.key.ECDH(key)
	if err != nil {
		return "", err
	}
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(sender)
	ikm, err := hkdf.Key(sha256.New, secret, b.auth, info, 32)
	if err != nil {
		return "", err
	}
	content, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return "", err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return "", err
	}
	block, err := aes.NewCipher(content)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	if len(body)-86 > int(size) {
		return "", errors.New("more than one record")
	}
	plain, err := gcm.Open(nil, nonce, body[86:], nil)
	text, last := strings.CutSuffix(strings.TrimRight(string(plain), "\x00"), "\x02")
	if err == nil && !last {
		err = errors.New("no delimiter of the last record")
	}
	return text, err
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decode(s string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(s) }

func decodeJSON(s string, into any) error {
	b, err := decode(s)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	return err
}
