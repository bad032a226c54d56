// Package discordtest is Discord on loopback, for one bot: REST, the websocket gateway and the CDN.
// It is as strict as the real one about what it is sent, loses and repeats what the real one may
// lose and repeat, and fails on demand. It keeps score of every call and of what each channel
// shows. It knows nothing of the bot it serves.
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

// The token of a new server's bot, and its name.
const (
	DefaultToken    = "MTE0OTg3NjU0MzIxMDEyMzQ1Ng.GnanoB.0123456789abcdefghijklmnopqrstuvwxyzAB"
	DefaultUsername = "nano-test"
	defaultBotID    = "1149876543210123456"
)

// Server is Discord for one bot. See New. All methods may be called from any goroutine.
type Server struct {
	URL           string // what a bot uses in place of https://discord.com and of the CDN
	Token         string // without the leading "Bot "
	ApplicationID string
	Bot           User

	server *httptest.Server
	closed chan struct{}
	close  sync.Once
	work   sync.WaitGroup // the gateway's connections

	mu     sync.Mutex
	more   *sync.Cond // something changed
	skew   time.Duration
	lastID uint64
	portal int

	users    map[string]User
	guilds   map[string]*guild
	channels map[string]*channel
	dms      map[string]string // user → channel
	denied   map[string]bool   // guilds, channels and users
	limits   map[string]int64  // guild → bytes of a file
	files    map[string]*stored
	nonces   map[string]*used
	commands map[string][]Command // guild, or "" → commands
	actions  map[string]*interaction
	changes  []Change

	calls      []*Call
	violations []string
	invalid    int
	fault      func(Call) Fault
	queued     map[string][]Fault
	buckets    buckets
	gateway    gateway
}

// New starts a server that closes with the test. The test fails if the bot did what no right bot
// does and the test did not ask for it with TakeViolations.
func New(t testing.TB) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.TakeViolations() {
			t.Errorf("the bot did what Discord does not allow: %s", v)
		}
	})
	return s
}

// Start starts a server outside a test; whoever calls it closes it and asks for the violations.
func Start() *Server {
	s := &Server{
		Token: DefaultToken, ApplicationID: defaultBotID,
		Bot:      User{ID: defaultBotID, Username: DefaultUsername, Discriminator: "0", Bot: true},
		closed:   make(chan struct{}),
		portal:   privileged,
		users:    map[string]User{},
		guilds:   map[string]*guild{},
		channels: map[string]*channel{},
		dms:      map[string]string{},
		denied:   map[string]bool{},
		limits:   map[string]int64{},
		files:    map[string]*stored{},
		nonces:   map[string]*used{},
		commands: map[string][]Command{},
		actions:  map[string]*interaction{},
		queued:   map[string][]Fault{},
		buckets:  newBuckets(),
		gateway:  newGateway(),
	}
	s.more = sync.NewCond(&s.mu)
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
				s.cut(c)
			}
		})
		s.work.Wait()
		s.server.CloseClientConnections()
		s.server.Close()
	})
}

// handler serves REST, the gateway and the CDN.
func (s *Server) handler() http.Handler {
	rest := s.routes()
	mux := http.NewServeMux()
	// 10 is today's version; 9 is the same for all that is here and the default of older libraries.
	mux.Handle("/api/v10/", http.StripPrefix("/api/v10", rest))
	mux.Handle("/api/v9/", http.StripPrefix("/api/v9", rest))
	mux.HandleFunc("/gateway/", s.accept)
	mux.HandleFunc(CDN, s.serveFile)
	return mux
}

// AdvanceClock has the server's clock jump: nonces are forgotten after 5 minutes, interactions must be
// answered within 3 seconds and are over after 15 minutes, the addresses of files expire after a
// day.
func (s *Server) AdvanceClock(d time.Duration) { s.update(func() { s.skew += d }) }

func (s *Server) now() time.Time { return time.Now().Add(s.skew) }

// discordEpoch is the first millisecond of 2015, from which snowflakes count.
const discordEpoch = 1420070400000

// id makes the next snowflake: later ones are greater, as numbers.
func (s *Server) id() string {
	s.lastID = max(s.lastID+1, uint64(s.now().UnixMilli()-discordEpoch)<<22)
	return strconv.FormatUint(s.lastID, 10)
}

func number(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

// update changes the server's state and tells everyone who waits.
func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.more.Broadcast()
}

// await waits until a condition that is checked under the lock holds. It reports false if that
// takes longer than patience or the server is closed.
func (s *Server) await(patience time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.update(func() {}) })()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds() {
		if ctx.Err() != nil || s.isClosed() {
			return false
		}
		s.more.Wait()
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

// Violations are what the bot did that no right bot does: unknown routes and fields, texts that are
// too long, buttons that cannot be. What a right bot may run into (a deleted message, a closed DM,
// a file that is too big) is refused, and no violation.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// TakeViolations returns the violations and forgets them, for a test that provokes some.
func (s *Server) TakeViolations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.violations
	s.violations = nil
	return v
}
