// Package telegramtest is the Telegram Bot API on loopback: as strict as the real one about what it
// is sent, at least once with what it delivers, and able to fail on demand. It keeps score of every
// call and of what each chat shows. It knows nothing of the bot it serves.
package telegramtest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The token of a new server's bot, and what getMe says of it.
const (
	DefaultToken    = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
	DefaultUsername = "nano_test_bot"
	DefaultBotID    = int64(110201543)
)

// Server is the Bot API for one bot. See New. All methods may be called from any goroutine.
type Server struct {
	URL   string // what a bot uses in place of https://api.telegram.org
	Token string
	Bot   User

	server *httptest.Server
	closed chan struct{}
	close  sync.Once
	work   sync.WaitGroup // the webhook's deliveries

	mu   sync.Mutex
	more *sync.Cond // something changed: an update, a call, a message
	set  settings

	updates updates
	hook    hook
	chats   map[int64]*chat
	users   map[int64]User
	files   map[string]*file
	paths   map[string]*file
	queries map[string]*Answer
	menus   map[string][]Command
	nextID  int // of messages in private chats and basic groups, which share one sequence

	open       int // connections
	calls      []*Call
	violations []string
	fault      func(Call) Fault
	queued     map[string][]Fault
	flood      flood
}

// settings are what a test may switch.
type settings struct {
	privacy bool
	local   string
	limits  Limits
	retry   time.Duration    // of the webhook
	clock   func() time.Time // of flood control
}

// Limits are the sizes the server takes, in bytes. Lower them to test a limit without moving that
// much.
type Limits struct {
	Upload   int64 // a request with files, as a whole
	Photo    int64 // a file sent as photo
	Download int64 // a file that getFile hands out
}

// DefaultLimits are those of api.telegram.org.
var DefaultLimits = Limits{Upload: 50 << 20, Photo: 10 << 20, Download: 20 << 20}

// multipartRoom is what the form around the files may weigh.
const multipartRoom = 64 << 10

// New starts a server that closes with the test. The test fails if the bot did what no right bot
// does and the test did not ask for it with TakeViolations.
func New(t testing.TB) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.TakeViolations() {
			t.Errorf("the bot did what Telegram does not allow: %s", v)
		}
	})
	return s
}

// Start starts a server outside a test; whoever calls it closes it and asks for the violations.
func Start() *Server {
	s := &Server{
		Token: DefaultToken, Bot: User{ID: DefaultBotID, IsBot: true, FirstName: "Nano", Username: DefaultUsername},
		set:     settings{limits: DefaultLimits, retry: 50 * time.Millisecond, clock: time.Now},
		chats:   map[int64]*chat{},
		users:   map[int64]User{},
		files:   map[string]*file{},
		paths:   map[string]*file{},
		queries: map[string]*Answer{},
		menus:   map[string][]Command{},
		queued:  map[string][]Fault{},
		updates: newUpdates(),
		closed:  make(chan struct{}),
	}
	s.more = sync.NewCond(&s.mu)
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.Config.ConnState = s.connected
	s.server.Start()
	s.URL = s.server.URL
	return s
}

// Close ends open polls, deliveries and the server.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closed)
		s.update(func() {
			if s.hook.cancel != nil {
				s.hook.cancel()
			}
		})
		s.work.Wait()
		s.server.CloseClientConnections()
		s.server.Close()
	})
}

// SetPrivacyMode says whether the bot is in group privacy mode, in which it does not see what is not
// addressed to it. A new server's bot sees everything, so that a test that says something else in a
// group tests the bot and not the server.
func (s *Server) SetPrivacyMode(on bool) { s.update(func() { s.set.privacy = on }) }

// SetLocalServer makes the server a local Bot API server, which keeps its files under dir, names them by
// absolute path and takes and gives up to 2000 MB. "" makes it api.telegram.org again.
func (s *Server) SetLocalServer(dir string) {
	s.update(func() {
		s.set.local = dir
		s.set.limits = DefaultLimits
		if dir != "" {
			s.set.limits = Limits{Upload: 2000 << 20, Photo: 10 << 20, Download: 2000 << 20}
		}
	})
}

// SetLimits replaces the sizes the server takes.
func (s *Server) SetLimits(l Limits) { s.update(func() { s.set.limits = l }) }

// SetWebhookRetry says how long the server waits before it offers the webhook the same update
// again.
func (s *Server) SetWebhookRetry(d time.Duration) { s.update(func() { s.set.retry = d }) }

// update changes the server's state and tells everyone who waits.
func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.more.Broadcast()
}

func (s *Server) wake() { s.update(func() {}) }

// await waits until a condition that is checked under the lock holds. It reports false if ctx or
// the server ends first.
func (s *Server) await(ctx context.Context, holds func() bool) bool {
	defer context.AfterFunc(ctx, s.wake)()
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

// awaitFor is await with a deadline.
func (s *Server) awaitFor(patience time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.await(ctx, holds)
}

// Violations are what the bot did that no right bot does: unknown parameters and methods, texts
// that are too long, entities that do not fit, albums that cannot be. What a right bot may run into
// (a missing message, a blocked chat, a file that is too big) is refused, and no violation.
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

func (s *Server) violate(what string) { s.update(func() { s.violations = append(s.violations, what) }) }

// Commands returns the menu set for a scope ("default", "all_private_chats", …), or nil.
func (s *Server) Commands(scope string) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Command(nil), s.menus[scope+"/"]...)
}

// QueryAnswer returns how the bot answered a press, if it has.
func (s *Server) QueryAnswer(query string) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.queries[query]; a != nil && a.Times > 0 {
		return *a, true
	}
	return Answer{}, false
}

// Answer is how the bot answered the press of a button.
type Answer struct {
	Text  string
	Alert bool
	Times int // how often it was answered: once is right
}

// Command is one line of the command menu.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types always encode
	}
	return b
}
