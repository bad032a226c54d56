package push

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/SherClockHolmes/webpush-go"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
	"nanobot/channels/web/history"
)

const (
	// lifetime is how long a push service stores a notification for a device that is switched off.
	lifetime = 12 * time.Hour
	// maxTries is how often a notification is sent, and maxRetryDelay the longest delay between.
	maxTries, maxRetryDelay = 3, 5 * time.Minute
	// maxTitle and maxText are in characters. With them a notification fits in the 4 KiB that every
	// push service accepts, also if each character is escaped.
	maxTitle, maxText = 80, 240
	// topicLength is the length of a topic (RFC 8030, section 5.4).
	topicLength = 32
)

// delivery is a notification for one subscription.
type delivery struct {
	sub             history.Subscription
	topic           string // a newer notification replaces one with the same topic
	payload         []byte
	urgency         webpush.Urgency
	private, public string // the keys of this server
}

// payload is what the page's service worker gets.
type payload struct {
	Chat  string `json:"chat"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

func newDelivery(sub history.Subscription, n Notification, title, name string) *delivery {
	p := payload{Chat: n.Chat, Title: shorten(title, maxTitle)}
	if p.Title == "" {
		p.Title = shorten(name, maxTitle)
	}
	if sub.Detailed {
		p.Text = shorten(n.Text, maxText)
	}
	d := &delivery{sub: sub, urgency: webpush.UrgencyNormal}
	if n.Question {
		d.urgency = webpush.UrgencyHigh
	}
	d.payload, _ = json.Marshal(p) // has only texts
	// The push service learns which notifications are about the same chat, and no more.
	sum := sha256.Sum256([]byte(sub.Auth + " " + n.Chat))
	d.topic = base64.RawURLEncoding.EncodeToString(sum[:])[:topicLength]
	return d
}

// shorten returns the beginning of a text on one line.
func shorten(text string, limit int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}

// errUnwanted says that a subscription has ended.
var errUnwanted = errors.New("the subscription has ended")

// refusal is an answer of a push service other than success.
type refusal struct {
	status int
	after  time.Duration // when to try again, if the push service says it
}

func (r *refusal) Error() string { return fmt.Sprintf("the push service has answered %d", r.status) }

// retryable reports whether the same request may succeed later.
func (r *refusal) retryable() bool {
	return r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
}

// deliver sends what waits for an endpoint, one after the other.
func (s *Sender) deliver(ctx context.Context, endpoint string) {
	tries := 0
	for d := s.first(endpoint, false); d != nil; d = s.first(endpoint, ctx.Err() != nil) {
		err := s.send(ctx, d)
		tries++
		if err != nil && ctx.Err() == nil {
			s.log(d, "notification not sent", tries, err)
		}
		delay, again := s.retry(err)
		switch {
		case errors.Is(err, errUnwanted):
			s.first(endpoint, true)
			return
		case again && tries < maxTries:
			httpclient.Sleep(ctx, delay)
		default:
			s.remove(d)
			tries = 0
		}
	}
}

// log logs an error. The endpoint is a secret, so only its host is logged.
func (s *Sender) log(d *delivery, message string, tries int, err error) {
	u, _ := url.Parse(d.sub.Endpoint) // was checked
	s.o.Log.Warn(message, zap.String("service", u.Hostname()), zap.Int("attempt", tries), zap.Error(err))
}

// retry reports whether and when a request is repeated.
func (s *Sender) retry(err error) (delay time.Duration, again bool) {
	var r *refusal
	switch {
	case err == nil, errors.Is(err, ErrNotPublic), errors.As(err, &r) && !r.retryable():
		return 0, false
	case r != nil && r.after > 0:
		return min(r.after, maxRetryDelay), true
	}
	return s.o.RetryDelay, true
}

// send sends a notification if its browser is still signed in. It removes a subscription that has
// ended.
func (s *Sender) send(ctx context.Context, d *delivery) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	h, err := s.o.History()
	if err != nil {
		return err
	}
	if ok, err := s.isSignedIn(ctx, h, d.sub); err != nil || !ok {
		return errors.Join(err, errUnwanted)
	}
	status, after, err := s.post(ctx, d)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound || status == http.StatusGone:
		return errors.Join(errUnwanted, h.Unsubscribe(ctx, d.sub.Owner, d.sub.Endpoint))
	case status < 200 || status > 299:
		return &refusal{status, after}
	}
	return nil
}

// post makes the request.
func (s *Sender) post(ctx context.Context, d *delivery) (status int, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	resp, err := webpush.SendNotificationWithContext(ctx, d.payload,
		&webpush.Subscription{Endpoint: d.sub.Endpoint, Keys: webpush.Keys{Auth: d.sub.Auth, P256dh: d.sub.P256DH}},
		&webpush.Options{
			HTTPClient: s.client, Subscriber: d.sub.Origin, TTL: int(lifetime.Seconds()), Topic: d.topic, Urgency: d.urgency,
			VAPIDPublicKey: d.public, VAPIDPrivateKey: d.private,
		})
	var address *url.Error
	if errors.As(err, &address) { // names the endpoint
		err = address.Err
	}
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return resp.StatusCode, time.Duration(seconds) * time.Second, nil
}
