package httpd

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// mostWrong is how many wrong credentials an address may show within attemptWindow. People
	// mistype a few times; programs guess.
	mostWrong     = 20
	attemptWindow = time.Minute
	// mostClients bounds the memory that wrong attempts take. Addresses beyond it are counted
	// together.
	mostClients = 4096
)

// Attempts counts wrong credentials by client address, answers 429 to an address that shows too
// many, and logs one line a minute.
//
// While an address is limited its token or link is not examined, so that guessing is slowed down to
// mostWrong a minute. There are three exceptions, because an attacker could otherwise shut others
// out: a sealed cookie is always honoured; an address that many people share (a proxy on this
// machine that does not say whom it speaks for) is answered 429 only for credentials that are
// wrong; and so is a network that calls us, such as Telegram. The credentials of these are too long
// to be guessed.
type Attempts struct {
	proxies []netip.Prefix
	log     *zap.Logger
	now     func() time.Time

	mu      sync.Mutex
	clients map[netip.Prefix]*attempts
	timer   *time.Timer // runs while a line was logged within the last minute
}

// attempts are the wrong credentials of one address.
type attempts struct {
	since             time.Time // begin of the window
	count             int       // in the window
	refused, unlogged int       // attempts answered with 429, and all attempts, since the last line in the log
	via               netip.Addr
}

// NewAttempts counts for a server. Proxies are believed when they say whom they speak for, beside
// those on this machine; now is the clock, nil means time.Now.
func NewAttempts(proxies []netip.Prefix, now func() time.Time, log *zap.Logger) *Attempts {
	if now == nil {
		now = time.Now
	}
	return &Attempts{proxies: proxies, log: log, now: now, clients: map[netip.Prefix]*attempts{}}
}

// client is who makes a request, as far as its address tells.
type client struct {
	net    netip.Prefix
	via    netip.Addr // the proxy that named the address, if one did
	shared bool       // nobody knows how many people have this address
}

// overflow is the client of all addresses that are counted together.
var overflow = client{shared: true}

// clientOf finds the address of a request's client. Forwarding headers are believed only from
// trusted proxies, or an attacker would choose a new address for each attempt.
func (a *Attempts) clientOf(r *http.Request) client {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return overflow
	}
	peer := at.Addr().Unmap().WithZone("")
	if !a.trusted(peer) {
		return client{net: network(peer)}
	}
	named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	named = append([]string{r.Header.Get("X-Real-Ip")}, named...)
	for i := len(named) - 1; i >= 0; i-- { // each proxy adds the address that it sees at the end
		ip, ok := parseClient(named[i])
		switch {
		case !ok && strings.TrimSpace(named[i]) == "":
		case !ok:
			return client{net: network(peer), shared: true}
		case !a.trusted(ip):
			return client{net: network(ip), via: peer}
		}
	}
	return client{net: network(peer), shared: true}
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

// parseClient reads an address as proxies write it: some add the port.
func parseClient(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}

// network is what one client can have addresses in: with IPv6 a provider hands out a /64 at least.
func network(ip netip.Addr) netip.Prefix {
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
	blocked := at != nil && at.count >= mostWrong && now.Sub(at.since) < attemptWindow
	var wait time.Duration
	if blocked {
		wait = attemptWindow - now.Sub(at.since)
		at.refused++
		at.unlogged++
	}
	a.mu.Unlock()
	if blocked {
		tooMany(w, r, wait)
	}
	return blocked
}

// Wrong counts a request whose credentials are wrong. If the client is over the limit it answers
// 429 and reports true.
func (a *Attempts) Wrong(w http.ResponseWriter, r *http.Request) bool {
	wait, over := a.count(a.clientOf(r))
	if over {
		tooMany(w, r, wait)
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
	if at.count++; at.count > mostWrong {
		at.refused++
		wait, over = attemptWindow-now.Sub(at.since), true
	}
	if a.timer == nil {
		a.write()
		a.timer = time.AfterFunc(attemptWindow, a.tick)
	}
	return wait, over
}

// entry returns what is known of a client. When there are too many, c becomes the one that stands
// for all others.
func (a *Attempts) entry(c *client, now time.Time) *attempts {
	at, known := a.clients[c.net]
	if !known && len(a.clients) >= mostClients {
		a.forget(now)
	}
	if !known && len(a.clients) >= mostClients {
		*c = overflow
		at, known = a.clients[c.net]
	}
	if !known {
		at = &attempts{since: now}
		a.clients[c.net] = at
	}
	return at
}

// forget drops the clients whose window has ended and who were logged.
func (a *Attempts) forget(now time.Time) {
	for net, at := range a.clients {
		if at.unlogged == 0 && now.Sub(at.since) >= attemptWindow {
			delete(a.clients, net)
		}
	}
}

// tick logs the minute that has passed, and goes on for as long as wrong credentials come.
func (a *Attempts) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		return
	}
	if !a.write() {
		a.timer = nil
		return
	}
	a.timer.Reset(attemptWindow)
}

// write logs one line for all wrong credentials since the last one, with the address that most of
// them came from. It reports false if there were none.
func (a *Attempts) write() bool {
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
	a.forget(a.now())
	if count == 0 {
		return false
	}
	fields := []zap.Field{zap.Int("count", count), zap.Int("refused", refused), zap.String("address", addressText(worst)), zap.Int("addresses", addresses)}
	if most.via.IsValid() {
		fields = append(fields, zap.Stringer("via", most.via))
	}
	a.log.Warn("wrong token, link, cookie or webhook secret", fields...)
	return true
}

// addressText is an address, or the network of one.
func addressText(p netip.Prefix) string {
	switch {
	case !p.IsValid():
		return "many"
	case p.IsSingleIP():
		return p.Addr().String()
	}
	return p.String()
}

// Close logs what was not logged yet.
func (a *Attempts) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.write()
}

// Watch counts the requests that a handler of its own credentials answers with 401, and answers
// those over the limit with 429. It never keeps a request from the handler: a network that calls us
// must not be shut out by somebody who calls in its place.
func (a *Attempts) Watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&watched{ResponseWriter: w, r: r, attempts: a}, r)
	})
}

// watched replaces the answer 401 of a client over the limit.
type watched struct {
	http.ResponseWriter
	r        *http.Request
	attempts *Attempts
	replaced bool
}

func (w *watched) WriteHeader(status int) {
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

func (w *watched) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func tooMany(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	refuse(w, r, http.StatusTooManyRequests, fmt.Sprintf("Too many wrong attempts. Try again in %s.", plural(seconds, "second")))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
