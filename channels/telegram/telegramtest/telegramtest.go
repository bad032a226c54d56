// Package telegramtest is a test server of the Telegram Bot API on loopback, for one bot. It
// refuses every request that Telegram refuses, delivers updates at least once, and fails on demand.
// It records every call and the messages of every chat. It knows nothing of the bot that it serves.
package telegramtest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// The token, the username and the ID of a new server's bot.
const (
	DefaultToken    = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
	DefaultUsername = "nano_test_bot"
	DefaultBotID    = int64(110201543)
)

// Server is a Bot API server for one bot; New starts one. All methods may be called from any
// goroutine.
type Server struct {
	URL   string // replaces https://api.telegram.org
	Token string
	Bot   User

	network
	fakenet.Messages[int64, Message]

	deliveryWork sync.WaitGroup // the webhook's deliveries
	settings     settings

	updates       updates
	webhook       webhook
	chats         map[int64]*chat
	users         map[int64]User
	files         map[string]*storedFile
	filesByPath   map[string]*storedFile
	answers       map[string]*Answer
	menus         map[string][]Command
	nextMessageID int // in private chats and basic groups, which share one sequence
	flood         floodControl
}

type network = fakenet.Network[Call, *Call]

// settings are the settings that a test may change.
type settings struct {
	privacy      bool
	localDir     string
	limits       Limits
	webhookRetry time.Duration
	// unknownMethods are those that an older server does not have.
	unknownMethods map[string]bool
	// anyMultipart accepts multipart/form-data also without files.
	anyMultipart bool
}

// Limits are the maximum sizes in bytes. Lower them to test a limit without much data.
type Limits struct {
	Upload   int64 // a request with files, as a whole
	Photo    int64 // a file sent as photo
	Download int64 // a file that getFile returns
}

// DefaultLimits are the limits of api.telegram.org.
var DefaultLimits = Limits{Upload: 50 << 20, Photo: 10 << 20, Download: 20 << 20}

// multipartOverhead is the allowance for the parts of a form around the files.
const multipartOverhead = 64 << 10

// New starts a server that is closed at the end of the test. The test fails if there are violations
// that it has not taken with TakeViolations.
func New(t fakenet.TB) *Server {
	t.Helper()
	s := Start()
	s.ShutdownAtCleanup(t, "Bot API", s.Close)
	return s
}

// NewInMemory is New for a test in a synctest bubble. Only the returned client reaches the server.
func NewInMemory(t fakenet.TB) (*Server, *http.Client) {
	t.Helper()
	s := newServer()
	client := s.ServeInMemory(http.HandlerFunc(s.serve))
	s.URL = "http://telegram.test"
	s.ShutdownAtCleanup(t, "Bot API", s.Close)
	return s, client
}

// Start starts a server outside a test. The caller closes it and checks the violations.
func Start() *Server {
	s := newServer()
	s.URL = s.Serve(http.HandlerFunc(s.serve))
	return s
}

// Open returns a server that does not listen, and the handler of its requests, for a program that
// has a listener of its own. The caller sets the URL and closes the server.
func Open() (*Server, http.Handler) {
	s := newServer()
	s.Open()
	return s, http.HandlerFunc(s.serve)
}

func newServer() *Server {
	s := &Server{
		Token: DefaultToken, Bot: User{ID: DefaultBotID, IsBot: true, FirstName: "Nano", Username: DefaultUsername},
		settings:    settings{limits: DefaultLimits, webhookRetry: 50 * time.Millisecond},
		chats:       map[int64]*chat{},
		users:       map[int64]User{},
		files:       map[string]*storedFile{},
		filesByPath: map[string]*storedFile{},
		answers:     map[string]*Answer{},
		menus:       map[string][]Command{},
		updates:     newUpdates(),
	}
	s.Messages = fakenet.NewMessages(&s.State, s.visibleMessages, Message.TextOrCaption)
	return s
}

// Close ends open polls, deliveries and the server.
func (s *Server) Close() {
	s.Shutdown(func() {
		s.Update(func() {
			if s.webhook.cancel != nil {
				s.webhook.cancel()
			}
		})
		s.deliveryWork.Wait()
	})
}

// SetPrivacyMode sets group privacy mode, in which the bot gets only messages that are addressed to
// it. It is off by default, so that tests of unaddressed messages test the bot and not the server.
func (s *Server) SetPrivacyMode(on bool) { s.Update(func() { s.settings.privacy = on }) }

// SetLocalServer turns the server into a local Bot API server, which stores its files under dir,
// returns absolute paths, and accepts up to 2000 MB. "" turns it into api.telegram.org again.
func (s *Server) SetLocalServer(dir string) {
	s.Update(func() {
		s.settings.localDir = dir
		s.settings.limits = DefaultLimits
		if dir != "" {
			s.settings.limits = Limits{Upload: 2000 << 20, Photo: 10 << 20, Download: 2000 << 20}
		}
	})
}

// AcceptAnyMultipart lets the server accept multipart/form-data also without files, as Telegram
// does. Other servers cannot read it.
func (s *Server) AcceptAnyMultipart() { s.Update(func() { s.settings.anyMultipart = true }) }

// ForgetMethods turns the server into an older one without these methods.
func (s *Server) ForgetMethods(names ...string) {
	s.Update(func() {
		s.settings.unknownMethods = map[string]bool{}
		for _, name := range names {
			s.settings.unknownMethods[name] = true
		}
	})
}

// SetLimits sets the maximum sizes.
func (s *Server) SetLimits(l Limits) { s.Update(func() { s.settings.limits = l }) }

// SetWebhookRetry sets how long the server waits before it delivers an update to the webhook again.
func (s *Server) SetWebhookRetry(d time.Duration) { s.Update(func() { s.settings.webhookRetry = d }) }

// Commands returns the menu set for a scope ("default", "all_private_chats", …), or nil.
func (s *Server) Commands(scope string) []Command {
	s.Lock()
	defer s.Unlock()
	return append([]Command(nil), s.menus[scope+"/"]...)
}

// QueryAnswer returns the bot's answer to a press, if there is one.
func (s *Server) QueryAnswer(query string) (Answer, bool) {
	s.Lock()
	defer s.Unlock()
	if a := s.answers[query]; a != nil && a.Times > 0 {
		return *a, true
	}
	return Answer{}, false
}

// Answer is the bot's answer to a press of a button.
type Answer struct {
	Text  string
	Alert bool
	Times int // how often it was answered; a correct bot answers once
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
