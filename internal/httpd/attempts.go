package httpd

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/internal/words"
)

const (
	// maxAttempts is how many wrong credentials an address may send within attemptWindow. People
	// mistype a few times; programs guess.
	maxAttempts   = 20
	attemptWindow = time.Minute
	// maxClients limits how many addresses are counted separately. Further ones are counted
	// together.
	maxClients = 4096
)

// Attempts counts wrong credentials by client address, answers 429 to an address that sends too
// many, and logs one line a minute.
//
// While an address is limited, its token or link is not examined, which limits guessing to
// maxAttempts a minute. There are three exceptions, because an attacker could otherwise lock others
// out: a signed cookie is always accepted; an address that many people share (a proxy on this
// machine without a forwarding header) and a network that calls our webhook get 429 only for wrong
// credentials. These credentials are too long to guess.
type Attempts struct {
	proxies []netip.Prefix
	log     *zap.Logger
	now     func() time.Time
	words   *words.Catalogue // of the answers; nil means English

	mu      sync.Mutex
	clients map[netip.Prefix]*attempts
	timer   *time.Timer // runs while a line was logged within the last minute
}

// attempts are the wrong credentials of one address.
type attempts struct {
	since             time.Time // start of the window
	count             int       // attempts in the window
	refused, unlogged int       // attempts answered with 429, and all attempts, since the last line in the log
	via               netip.Addr
}

// NewAttempts returns the counter of a server. It trusts the forwarding headers of the given
// proxies and of proxies on this machine. A nil now means time.Now.
func NewAttempts(proxies []netip.Prefix, now func() time.Time, log *zap.Logger) *Attempts {
	if now == nil {
		now = time.Now
	}
	return &Attempts{proxies: proxies, log: log, now: now, clients: map[netip.Prefix]*attempts{}}
}

// SetWords sets the catalogue of the answers, which are English without it. It is called before the
// first request.
func (a *Attempts) SetWords(c *words.Catalogue) { a.words = c }

// client identifies the sender of a request by its address.
type client struct {
	net    netip.Prefix
	via    netip.Addr // the proxy that named the address, if one did
	shared bool       // an unknown number of people have this address
}

// overflow is the client that stands for all addresses beyond maxClients.
var overflow = client{shared: true}

// clientOf returns the client of a request. Forwarding headers count only from trusted proxies;
// otherwise an attacker could use a new address for each attempt.
func (a *Attempts) clientOf(r *http.Request) client {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return overflow
	}
	peer := at.Addr().Unmap().WithZone("")
	if !a.trusted(peer) {
		return client{net: clientNetwork(peer)}
	}
	named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	named = append([]string{r.Header.Get("X-Real-Ip")}, named...)
	for i := len(named) - 1; i >= 0; i-- { // each proxy adds the address that it sees at the end
		ip, ok := parseClient(named[i])
		switch {
		case !ok && strings.TrimSpace(named[i]) == "":
		case !ok:
			return client{net: clientNetwork(peer), shared: true}
		case !a.trusted(ip):
			return client{net: clientNetwork(ip), via: peer}
		}
	}
	return client{net: clientNetwork(peer), shared: true}
}

func (a *Attempts) trusted(ip netip.Addr) bool {
	if ip.IsLoopback() {
		return true
	}
	for _, p := range a.proxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// parseClient parses an address in a forwarding header; some proxies add the port.
func parseClient(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}

// clientNetwork returns the network of one client: with IPv6 a /64, the least that providers
// assign.
func clientNetwork(ip netip.Addr) netip.Prefix {
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // the number of bits is right for both families
	return p
}

// Blocked answers 429 to a client over the limit and reports true. Its credentials must then not be
// examined.
func (a *Attempts) Blocked(w http.ResponseWriter, r *http.Request) bool {
	c := a.clientOf(r)
	if c.shared {
		return false
	}
	a.mu.Lock()
	at := a.clients[c.net]
	now := a.now()
	blocked := at != nil && at.count >= maxAttempts && now.Sub(at.since) < attemptWindow
	var wait time.Duration
	if blocked {
		wait = attemptWindow - now.Sub(at.since)
		at.refused++
		at.unlogged++
	}
	a.mu.Unlock()
	if blocked {
		a.refuseTooMany(w, r, wait)
	}
	return blocked
}

// Wrong counts a request whose credentials are wrong. If the client is over the limit it answers
// 429 and reports true.
func (a *Attempts) Wrong(w http.ResponseWriter, r *http.Request) bool {
	wait, over := a.count(a.clientOf(r))
	if over {
		a.refuseTooMany(w, r, wait)
	}
	return over
}

func (a *Attempts) count(c client) (wait time.Duration, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	at := a.entry(&c, now)
	if now.Sub(at.since) >= attemptWindow {
		at.since, at.count = now, 0
	}
	at.via = c.via
	at.unlogged++
	if at.count++; at.count > maxAttempts {
		at.refused++
		wait, over = attemptWindow-now.Sub(at.since), true
	}
	if a.timer == nil {
		a.logAttempts()
		a.timer = time.AfterFunc(attemptWindow, a.logPeriodically)
	}
	return wait, over
}

// entry returns the counter of a client. With too many clients it sets c to overflow.
func (a *Attempts) entry(c *client, now time.Time) *attempts {
	at, known := a.clients[c.net]
	if !known && len(a.clients) >= maxClients {
		a.dropIdle(now)
	}
	if !known && len(a.clients) >= maxClients {
		*c = overflow
		at, known = a.clients[c.net]
	}
	if !known {
		at = &attempts{since: now}
		a.clients[c.net] = at
	}
	return at
}

// dropIdle removes the clients whose window has ended and whose attempts are logged.
func (a *Attempts) dropIdle(now time.Time) {
	for net, at := range a.clients {
		if at.unlogged == 0 && now.Sub(at.since) >= attemptWindow {
			delete(a.clients, net)
		}
	}
}

// logPeriodically logs the attempts of the last minute and restarts the timer until none come.
func (a *Attempts) logPeriodically() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		return
	}
	if !a.logAttempts() {
		a.timer = nil
		return
	}
	a.timer.Reset(attemptWindow)
}

// logAttempts logs one line for all wrong credentials since the last line, with the address that
// sent most of them. It reports false if there were none.
func (a *Attempts) logAttempts() bool {
	count, refused, addresses := 0, 0, 0
	var worst netip.Prefix
	most := &attempts{}
	for net, at := range a.clients {
		if at.unlogged == 0 {
			continue
		}
		count, refused, addresses = count+at.unlogged, refused+at.refused, addresses+1
		if at.unlogged > most.unlogged || at.unlogged == most.unlogged && net.Addr().Less(worst.Addr()) {
			worst, most = net, &attempts{unlogged: at.unlogged, via: at.via}
		}
		at.refused, at.unlogged = 0, 0
	}
	a.dropIdle(a.now())
	if count == 0 {
		return false
	}
	fields := []zap.Field{
		zap.Int("count", count), zap.Int("refused", refused), zap.String("address", addressText(worst)),
		zap.Int("addresses", addresses),
	}
	if most.via.IsValid() {
		fields = append(fields, zap.Stringer("via", most.via))
	}
	a.log.Warn("wrong token, link, cookie or webhook secret", fields...)
	return true
}

// addressText formats an address or a network.
func addressText(p netip.Prefix) string {
	switch {
	case !p.IsValid():
		return "many"
	case p.IsSingleIP():
		return p.Addr().String()
	}
	return p.String()
}

// Close logs the attempts that are not logged yet.
func (a *Attempts) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.logAttempts()
}

// Watch counts the requests that a handler with its own credentials answers with 401, and answers
// 429 instead over the limit. It passes every request to the handler: an attacker must not be able
// to lock out a network that calls our webhook.
func (a *Attempts) Watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&limitedWriter{ResponseWriter: w, r: r, attempts: a}, r)
	})
}

// limitedWriter replaces 401 by 429 for a client over the limit.
type limitedWriter struct {
	http.ResponseWriter
	r        *http.Request
	attempts *Attempts
	replaced bool
}

func (w *limitedWriter) WriteHeader(status int) {
	if w.replaced {
		return
	}
	if status == http.StatusUnauthorized {
		if w.replaced = w.attempts.Wrong(w.ResponseWriter, w.r); w.replaced {
			return
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *limitedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (a *Attempts) refuseTooMany(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	texts := wordsFor(a.words, r)
	writeRefusal(w, r, texts, refusal{status: http.StatusTooManyRequests, text: texts.Text(words.SignInTooMany, seconds)})
}
