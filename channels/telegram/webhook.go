package telegram

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
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"
)

// hook is where Telegram delivers updates, in webhook mode.
type hook struct{ url, pattern, secret string }

const (
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	// maxUpdate bounds one update. A real one, with the longest text and a quoted one, is some ten
	// kilobytes.
	maxUpdate = 4 << 20
	// bodyTimeout is how long an update may take to come in once its secret was seen.
	bodyTimeout = 15 * time.Second
	// answerTimeout is how long Telegram may wait. After 60 s it hangs up and delivers again by
	// itself.
	answerTimeout = 50 * time.Second
)

var (
	plainPath  = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$`)
	secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// newHook checks what the operator says about the webhook.
func newHook(o Options) (*hook, error) {
	u, err := url.Parse(o.WebhookURL)
	switch {
	case o.WebhookURL == "":
		return nil, errors.New(`webhookUrl: must be set, because mode is webhook`)
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil:
		return nil, errors.New("webhookUrl: must be an address such as https://bot.example.com/telegram")
	case u.RawQuery != "" || u.Fragment != "" || !plainPath.MatchString(u.EscapedPath()):
		return nil, errors.New("webhookUrl: its path may have letters, digits and the characters . _ ~ - only, and nothing may follow it")
	case o.WebhookSecret != "" && (len(o.WebhookSecret) > 256 || !secretForm.MatchString(o.WebhookSecret)):
		return nil, errors.New("webhookSecret: must be 1 to 256 letters, digits, _ or -")
	}
	h := &hook{url: o.WebhookURL, pattern: "POST " + u.Path, secret: o.WebhookSecret}
	if u.Path == "" || strings.HasSuffix(u.Path, "/") {
		h.pattern = "POST /" + strings.TrimPrefix(u.Path, "/") + "{$}" // this path, and not all below it
	}
	if h.secret == "" {
		// Nobody who sees it can tell the token, and there is nothing to configure.
		mac := hmac.New(sha256.New, []byte(o.Token))
		mac.Write([]byte("nanobot: telegram webhook"))
		h.secret = hex.EncodeToString(mac.Sum(nil))
	}
	return h, nil
}

// Mount returns where the webhook is, if there is one.
func (c *Channel) Mount() (pattern string, h http.Handler) {
	if c.hook == nil {
		return "", nil
	}
	return c.hook.pattern, http.HandlerFunc(c.serveHook)
}

// deliverFunc has an update accepted, and waits until it is safe or ctx ends.
type deliverFunc func(ctx context.Context, raw []byte) error

// serveHook takes one delivery. It answers 200 when the update is safe: received, pending, or
// nothing for us. After everything else Telegram delivers it again, and holds back what follows in
// that chat.
func (c *Channel) serveHook(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(c.hook.secret)) != 1 {
		w.Header().Set("Connection", "close") // or the server would read on to use the connection again
		http.Error(w, "wrong secret", http.StatusUnauthorized)
		return
	}
	deliver := c.webhook.Load()
	if deliver == nil {
		comeAgain(w)
		return
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout)) // where there is none, the server's own must do
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	_ = conn.SetReadDeadline(time.Time{})
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		c.log.Error("update refused: too big", zap.Int64("limit", tooBig.Limit))
		http.Error(w, "too big", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "incomplete", http.StatusBadRequest)
		return
	}
	if (*deliver)(r.Context(), body) != nil {
		comeAgain(w)
	}
}

// comeAgain refuses for now. Telegram waits as long as it is told, and otherwise longer each time,
// up to two minutes.
func comeAgain(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "try again", http.StatusServiceUnavailable)
}

var errLate = errors.New("not taken in time")

var errClosed = errors.New("shutting down")

// deliver has an update accepted, as a deliverFunc. running is the context of Run.
func (in *intake) deliver(running, ctx context.Context, raw []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errLate)
	defer cancel()
	outcome := make(chan error, 1)
	if !in.begin(func() { outcome <- in.acceptOne(running, raw) }) {
		return errClosed
	}
	select {
	case err := <-outcome:
		return err
	case <-running.Done():
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// acceptOne accepts an update that is delivered by itself. Why updates are not received is logged
// once.
func (in *intake) acceptOne(ctx context.Context, raw []byte) error {
	u, ok := in.decode(raw)
	if !ok || !in.prepare(ctx, u) {
		return nil
	}
	err := in.accept(ctx, u, func() string { return "" })
	switch {
	case err == nil:
		in.refused.over(in)
	case ctx.Err() == nil:
		in.refused.log(in, err, func() {
			in.c.log.Warn("message not received, Telegram will deliver it again", zap.Error(err))
		})
	}
	return err
}
