// Package discordtest is a test server for one Discord bot: REST, the websocket gateway and the CDN
// on loopback. It refuses every request that Discord refuses, loses and repeats events as Discord
// may, and fails on demand. It records every call and the messages of every channel. It knows
// nothing of the bot that it serves.
package discordtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The token and the name of a new server's bot.
const (
	DefaultToken    = "MTE0OTg3NjU0MzIxMDEyMzQ1Ng.GnanoB.0123456789abcdefghijklmnopqrstuvwxyzAB"
	DefaultUsername = "nano-test"
	defaultBotID    = "1149876543210123456"
)

// Server is a Discord server for one bot; New starts one. All methods may be called from any
// goroutine.
type Server struct {
	URL           string // replaces https://discord.com and the address of the CDN
	Token         string // without the leading "Bot "
	ApplicationID string
	Bot           User

	server      *httptest.Server
	closed      chan struct{}
	close       sync.Once
	connections sync.WaitGroup // the gateway's connections

	mu                sync.Mutex
	changed           *sync.Cond // signalled on every change of the state
	clockOffset       time.Duration
	lastID            uint64
	privilegedIntents int

	users        map[string]User
	guilds       map[string]*guild
	channels     map[string]*channel
	dms          map[string]string // user → channel
	denied       map[string]bool   // guilds, channels and users
	uploadLimits map[string]int64  // guild → bytes of a file
	files        map[string]*storedFile
	nonces       map[string]*usedNonce
	commands     map[string][]Command // guild, or "" → commands
	interactions map[string]*interaction
	changes      []Change

	calls           []*Call
	violations      []string
	invalidRequests int
	faultFunc       func(Call) Fault
	queuedFaults    map[string][]Fault
	buckets         buckets
	gateway         gateway
}

// New starts a server that is closed at the end of the test. The test fails if there are violations
// that it has not taken with TakeViolations.
func New(t testing.TB) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.TakeViolations() {
			t.Errorf("violation of the Discord API: %s", v)
		}
	})
	return s
}

// Start starts a server outside a test. The caller closes it and checks the violations.
func Start() *Server {
	s := &Server{
		Token: DefaultToken, ApplicationID: defaultBotID,
		Bot:               User{ID: defaultBotID, Username: DefaultUsername, Discriminator: "0", Bot: true},
		closed:            make(chan struct{}),
		privilegedIntents: privileged,
		users:             map[string]User{},
		guilds:            map[string]*guild{},
		channels:          map[string]*channel{},
		dms:               map[string]string{},
		denied:            map[string]bool{},
		uploadLimits:      map[string]int64{},
		files:             map[string]*storedFile{},
		nonces:            map[string]*usedNonce{},
		commands:          map[string][]Command{},
		interactions:      map[string]*interaction{},
		queuedFaults:      map[string][]Fault{},
		buckets:           newBuckets(),
		gateway:           newGateway(),
	}
	s.changed = sync.NewCond(&s.mu)
	s.users[s.Bot.ID] = s.Bot
	s.server = httptest.NewServer(s.handler())
	s.URL = s.server.URL
	return s
}

// Close ends the gateway's connections and the server.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closed)
		s.update(func() {
			for c := range s.gateway.conns {
				s.cutConnection(c)
			}
		})
		s.connections.Wait()
		s.server.CloseClientConnections()
		s.server.Close()
	})
}

// handler serves REST, the gateway and the CDN.
func (s *Server) handler() http.Handler {
	rest := s.routes()
	mux := http.NewServeMux()
	// 10 is the current version. 9 is the default of older libraries, and does not differ in these
	// routes.
	mux.Handle("/api/v10/", http.StripPrefix("/api/v10", rest))
	mux.Handle("/api/v9/", http.StripPrefix("/api/v9", rest))
	mux.HandleFunc("/gateway/", s.serveGateway)
	mux.HandleFunc(CDN, s.serveFile)
	return mux
}

// AdvanceClock moves the server's clock: nonces expire after 5 minutes, interactions must be
// answered within 3 seconds and expire after 15 minutes, and the URLs of files expire after a day.
func (s *Server) AdvanceClock(d time.Duration) { s.update(func() { s.clockOffset += d }) }

func (s *Server) now() time.Time { return time.Now().Add(s.clockOffset) }

// discordEpoch is the first millisecond of 2015, the epoch of snowflakes.
const discordEpoch = 1420070400000

// newID returns the next snowflake. Snowflakes increase, as numbers.
func (s *Server) newID() string {
	s.lastID = max(s.lastID+1, uint64(s.now().UnixMilli()-discordEpoch)<<22)
	return strconv.FormatUint(s.lastID, 10)
}

func parseID(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

// update changes the server's state and wakes all waiters.
func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.changed.Broadcast()
}

// await waits until holds reports true; holds is called with the lock held. It reports false after
// the timeout, or if the server is closed.
func (s *Server) await(timeout time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.update(func() {}) })()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds() {
		if ctx.Err() != nil || s.isClosed() {
			return false
		}
		s.changed.Wait()
	}
	return true
}

func (s *Server) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// Violations returns the requests that a correct bot never makes: unknown routes and fields, texts
// that are too long, invalid components. Errors that a correct bot may get (a deleted message, a
// closed DM, a file that is too large) are not violations.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// TakeViolations returns the violations and removes them, for a test that provokes them.
func (s *Server) TakeViolations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.violations
	s.violations = nil
	return v
}
