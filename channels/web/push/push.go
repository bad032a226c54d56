// Package push sends notifications to browsers by Web Push (RFC 8030, 8291 and 8292). It knows
// subscriptions, keys and push services; it knows nothing of the page and of HTTP requests to this
// server.
package push

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"
	"go.uber.org/zap"

	"nanobot/channels/web/history"
)

const (
	// maxQueued is how many notifications may wait for the subscriptions of their owners,
	// maxWaiting how many chats may wait for one subscription, maxParallel how many requests run at
	// the same time.
	maxQueued, maxWaiting, maxParallel = 256, 20, 64
	// pruneInterval is how often the subscriptions of ended sign-ins are removed.
	pruneInterval = time.Hour
	// idleTimeout is how long a connection to a push service stays open.
	idleTimeout = time.Minute
	// maxHeaderBytes bounds the header of a push service's answer.
	maxHeaderBytes = 16 << 10
	// The defaults of Options.
	timeout, retryDelay = 10 * time.Second, 20 * time.Second
)

// Options are the parameters of New.
type Options struct {
	// History opens the history, which has the subscriptions and the keys.
	History func() (*history.History, error)
	// SignedIn reports whether a sign-in has neither ended nor expired.
	SignedIn func(ctx context.Context, signIn string) (bool, error)
	// Allow are hosts, addresses and networks of push services that need not be public.
	Allow []string
	// Name is the title of a notification about a chat without a title.
	Name string
	Log  *zap.Logger
	// Resolver finds the addresses of push services, and Roots certify them; nil means those of the
	// system.
	Resolver *net.Resolver
	Roots    *x509.CertPool
	// Timeout is how long a request may take, RetryDelay how long a retry waits if the push service
	// does not say it; 0 means 10 and 20 seconds.
	Timeout, RetryDelay time.Duration
}

// Notification tells the owner of a chat of a message in it.
type Notification struct {
	Owner, Chat string
	Text        string // for those who want more than the title of the chat
	Question    bool   // a turn waits for the answer
}

// Sender sends notifications. New returns one.
type Sender struct {
	o       Options
	allowed allowed
	client  *http.Client
	queue   chan Notification
	slots   chan struct{} // has a value for each request

	mu      sync.Mutex
	waiting map[string][]*delivery // by endpoint; there is an entry while a goroutine serves it
}

// New returns a sender. It opens the history only when it is first used.
func New(o Options) (*Sender, error) {
	if o.History == nil || o.SignedIn == nil {
		return nil, errors.New("push: no history, or no sign-ins")
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Timeout == 0 {
		o.Timeout = timeout
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = retryDelay
	}
	s := &Sender{
		o: o, allowed: newAllowed(o.Allow), queue: make(chan Notification, maxQueued),
		slots: make(chan struct{}, maxParallel), waiting: map[string][]*delivery{},
	}
	s.client = &http.Client{
		// No proxy: it would connect to addresses that nobody has checked.
		Transport: &http.Transport{
			DialContext:     s.allowed.dial(net.Dialer{Resolver: o.Resolver}),
			TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
			IdleConnTimeout: idleTimeout, MaxIdleConns: maxParallel, MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

func (s *Sender) resolver() *net.Resolver {
	if s.o.Resolver != nil {
		return s.o.Resolver
	}
	return net.DefaultResolver
}

// PublicKey returns the key for which browsers subscribe.
func (s *Sender) PublicKey(ctx context.Context) (string, error) {
	h, err := s.o.History()
	if err != nil {
		return "", err
	}
	_, public, err := h.PushKeys(ctx, webpush.GenerateVAPIDKeys)
	return public, err
}

// Notify has Run send a notification. It does not block.
func (s *Sender) Notify(n Notification) {
	select {
	case s.queue <- n:
	default:
		s.o.Log.Warn("notification dropped, too many are waiting", zap.String("chat", n.Chat))
	}
}

// Run sends notifications until ctx ends. Those that are waiting then are dropped.
func (s *Sender) Run(ctx context.Context) {
	var work sync.WaitGroup
	defer s.client.CloseIdleConnections()
	defer s.dropQueued()
	defer work.Wait()
	prune := time.NewTicker(pruneInterval)
	defer prune.Stop()
	for err := s.prune(ctx); ctx.Err() == nil; {
		if err != nil {
			s.o.Log.Warn("notifications not sent", zap.Error(err))
		}
		select {
		case n := <-s.queue:
			err = s.dispatch(ctx, n, &work)
		case <-prune.C:
			err = s.prune(ctx)
		case <-ctx.Done():
		}
	}
}

// dropQueued drops what is waiting, so that a later Run does not send it.
func (s *Sender) dropQueued() {
	for {
		select {
		case <-s.queue:
		default:
			return
		}
	}
}

// prune removes the subscriptions of ended sign-ins.
func (s *Sender) prune(ctx context.Context) error {
	h, err := s.o.History()
	if err != nil {
		return err
	}
	all, err := h.Subscriptions(ctx, "", true)
	for _, sub := range all {
		if _, checkErr := s.isSignedIn(ctx, h, sub); err == nil {
			err = checkErr
		}
	}
	return err
}

// isSignedIn reports whether the browser of a subscription is signed in. If it is not, the
// subscription is removed.
func (s *Sender) isSignedIn(ctx context.Context, h *history.History, sub history.Subscription) (bool, error) {
	ok, err := s.o.SignedIn(ctx, sub.SignIn)
	if ok || err != nil {
		return ok, err
	}
	return false, h.EndSignIn(ctx, sub.SignIn)
}

// dispatch has a notification delivered to the subscriptions of the chat's owner.
func (s *Sender) dispatch(ctx context.Context, n Notification, work *sync.WaitGroup) error {
	h, err := s.o.History()
	if err != nil {
		return err
	}
	subs, err := h.Subscriptions(ctx, n.Owner, false)
	if err != nil || len(subs) == 0 {
		return err
	}
	chat, err := h.Chat(ctx, history.Actor{User: n.Owner}, n.Chat)
	if errors.Is(err, history.ErrNotOwner) { // it was deleted
		return nil
	}
	if err != nil {
		return err
	}
	private, public, err := h.PushKeys(ctx, webpush.GenerateVAPIDKeys)
	if err != nil {
		return err
	}
	for _, sub := range subs {
		d := newDelivery(sub, n, chat.Title, s.o.Name)
		d.private, d.public = private, public
		s.add(ctx, d, work)
	}
	return nil
}

// add has a delivery sent after those that wait for its endpoint, in place of an older one of the
// same chat.
func (s *Sender) add(ctx context.Context, d *delivery, work *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, served := s.waiting[d.sub.Endpoint]
	all = append(slices.DeleteFunc(all, func(old *delivery) bool { return old.topic == d.topic }), d)
	s.waiting[d.sub.Endpoint] = all[max(0, len(all)-maxWaiting):]
	if !served {
		work.Go(func() { s.deliver(ctx, d.sub.Endpoint) })
	}
}

// first returns the next delivery to an endpoint. If there is none, or drop is set, its goroutine
// ends.
func (s *Sender) first(endpoint string, drop bool) *delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting[endpoint]
	if len(all) == 0 || drop {
		delete(s.waiting, endpoint)
		return nil
	}
	return all[0]
}

// remove removes a delivery, unless a newer one has replaced it.
func (s *Sender) remove(d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting[d.sub.Endpoint]
	s.waiting[d.sub.Endpoint] = slices.DeleteFunc(all, func(other *delivery) bool { return other == d })
}
