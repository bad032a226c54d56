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
	case o.State == "":
		return nil, errors.New("no folder for what the webhook brings")
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

// desk is where deliveries are handed in while Run runs.
type desk struct {
	arrivals chan arrival
	closed   chan struct{}
}

// arrival is one delivery. What became of it is sent to outcome, which has room for it.
type arrival struct {
	id      int64 // of one that was polled
	body    []byte
	more    bool // others came with it and follow
	outcome chan error
}

// serveHook takes one delivery. It answers 200 when the update is safe: received, on the shelf, or
// nothing for us. After everything else Telegram delivers it again, and holds back what follows in
// that chat.
func (c *Channel) serveHook(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(c.hook.secret)) != 1 {
		w.Header().Set("Connection", "close") // or the server would read on to use the connection again
		http.Error(w, "wrong secret", http.StatusUnauthorized)
		return
	}
	d := c.desk.Load()
	if d == nil {
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
	if d.handIn(r.Context(), body) != nil {
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

// handIn waits until an update is safe.
func (d *desk) handIn(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, errLate)
	defer cancel()
	a := arrival{body: body, outcome: make(chan error, 1)}
	select {
	case d.arrivals <- a:
	case <-d.closed:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-a.outcome:
		return err
	case <-d.closed:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errClosed = errors.New("shutting down")
