package receiving

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/lazyregexp"
)

// Webhook is the endpoint for updates in webhook mode.
type Webhook struct {
	url, pattern, secret string

	deliverUpdate atomic.Pointer[deliverFunc] // nil unless Run is running
	log           *zap.Logger
}

// URL is the public address of the webhook.
func (h *Webhook) URL() string { return h.url }

const (
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	// maxUpdate bounds one update. A real one, with the longest text and a quoted one, is some ten
	// kilobytes.
	maxUpdate = 4 << 20
	// bodyTimeout bounds the reading of an update once its secret was checked.
	bodyTimeout = 15 * time.Second
	// answerTimeout bounds a delivery. After 60 s Telegram closes the connection and delivers the
	// update again.
	answerTimeout = 50 * time.Second
)

var (
	webhookPathPattern   = lazyregexp.New(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$`)
	webhookSecretPattern = lazyregexp.New(`^[A-Za-z0-9_-]+$`)
)

// IsWebhookPath reports whether the path of a URL has no characters that a proxy may rewrite or a
// router takes for a pattern, and nothing follows it.
func IsWebhookPath(u *url.URL) bool {
	return u.RawQuery == "" && u.Fragment == "" && webhookPathPattern().MatchString(u.EscapedPath())
}

// IsWebhookSecret reports whether Telegram allows a secret token.
func IsWebhookSecret(secret string) bool {
	return len(secret) <= 256 && webhookSecretPattern().MatchString(secret)
}

// NewWebhook returns the webhook with a public URL. Telegram sends the secret with each update; ""
// means a secret derived from the token.
func NewWebhook(address, secret, token string, log *zap.Logger) (*Webhook, error) {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return nil, errors.New(`webhookUrl: must be set, because mode is webhook`)
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil:
		return nil, errors.New("webhookUrl: must be an address such as https://bot.example.com/telegram")
	case !IsWebhookPath(u):
		return nil,
			errors.New("webhookUrl: its path may have letters, digits and the characters . _ ~ - only, " +
				"and nothing may follow it")
	case secret != "" && !IsWebhookSecret(secret):
		return nil, config.Problem{Path: []string{"webhookSecret"}, Text: "must be 1 to 256 letters, digits, _ or -"}
	}
	h := &Webhook{url: address, pattern: "POST " + u.Path, secret: secret, log: log}
	if u.Path == "" || strings.HasSuffix(u.Path, "/") {
		h.pattern = "POST /" + strings.TrimPrefix(u.Path, "/") + "{$}" // only this path, no subpaths
	}
	if h.secret == "" {
		// The secret does not reveal the token, and needs no configuration.
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write([]byte("nanobot: telegram webhook"))
		h.secret = hex.EncodeToString(mac.Sum(nil))
	}
	return h, nil
}

// deliverFunc accepts an update, and waits until it is stored or ctx ends.
type deliverFunc func(ctx context.Context, raw []byte) error

// serve handles one delivery. It responds with 200 when the update is safe: received,
// pending, or not for the bot. After any other status Telegram delivers the update again, and holds
// back later updates of that chat.
func (h *Webhook) serve(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(h.secret)) != 1 {
		w.Header().Set("Connection", "close") // otherwise the server would read the body to reuse the connection
		http.Error(w, "wrong secret", http.StatusUnauthorized)
		return
	}
	deliver := h.deliverUpdate.Load()
	if deliver == nil {
		refuseForNow(w)
		return
	}
	conn := http.NewResponseController(w)
	// not supported by all writers; then the server's own timeout applies
	_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	_ = conn.SetReadDeadline(time.Time{})
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		h.log.Error("update refused: too big", zap.Int64("limit", tooBig.Limit))
		http.Error(w, "too big", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "incomplete", http.StatusBadRequest)
		return
	}
	if (*deliver)(r.Context(), body) != nil {
		refuseForNow(w)
	}
}

// refuseForNow asks Telegram to deliver again in a second. Without Retry-After it would wait longer
// each time, up to two minutes.
func refuseForNow(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "try again", http.StatusServiceUnavailable)
}

var errAcceptTimeout = errors.New("not accepted in time")

var errShuttingDown = errors.New("shutting down")

// handleDelivery accepts an update, as a deliverFunc. running is the context of Run.
func (in *acceptor) handleDelivery(running, ctx context.Context, raw []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errAcceptTimeout)
	defer cancel()
	outcome := make(chan error, 1)
	if !in.startTask(func() { outcome <- in.acceptDelivery(running, raw) }) {
		return errShuttingDown
	}
	select {
	case err := <-outcome:
		return err
	case <-running.Done():
		return errShuttingDown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// acceptDelivery accepts an update from the webhook. Repeated errors are logged once.
func (in *acceptor) acceptDelivery(ctx context.Context, raw []byte) error {
	u, ok := in.decodeUpdate(raw)
	if !ok || !in.prepareUpdate(ctx, u) {
		return nil
	}
	err := in.acceptUpdate(ctx, u, func() string { return "" })
	switch {
	case err == nil:
		in.webhookFailures.resolve(in)
	case ctx.Err() == nil:
		in.webhookFailures.report(in, err, func() {
			in.r.o.Log.Warn("message not received, Telegram will deliver it again", zap.Error(err))
		})
	}
	return err
}
