// Package discordtest is a test server for one Discord bot: REST, the websocket gateway and the CDN
// on loopback. It refuses every request that Discord refuses, loses and repeats events as Discord
// may, and fails on demand. It records every call and the messages of every channel. It knows
// nothing of the bot that it serves.
package discordtest

import (
	"net/http"
	"strconv"
	"sync"

	"nanobot/channels/channelstest/fakenet"
)

// The token and the name of a new server's bot.
const (
	DefaultToken    = "MTE0OTg3NjU0MzIxMDEyMzQ1Ng.GnanoB.0123456789abcdefghijklmnopqrstuvwxyzAB"
	DefaultUsername = "nano-test"
	defaultBotID    = "1149876543210123456"
)

// Server is a Discord server for one bot; New starts one. All methods may be called from any
// goroutine. With AdvanceClock, nonces expire after 5 minutes, interactions must be answered within
// 3 seconds and expire after 15 minutes, and the URLs of files expire after a day.
type Server struct {
	URL           string // replaces https://discord.com and the address of the CDN
	Token         string // without the leading "Bot "
	ApplicationID string
	Bot           User

	network
	fakenet.Messages[string, Message]

	connections       sync.WaitGroup // the gateway's connections
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

	invalidRequests int
	buckets         buckets
	gateway         gateway
}

type network = fakenet.Network[Call, *Call]

// New starts a server that is closed at the end of the test. The test fails if there are violations
// that it has not taken with TakeViolations.
func New(t fakenet.TB) *Server {
	t.Helper()
	s := Start()
	s.ShutdownAtCleanup(t, "Discord API", s.Close)
	return s
}

// Start starts a server outside a test. The caller closes it and checks the violations.
func Start() *Server {
	s := newServer()
	s.URL = s.Serve(s.handler())
	return s
}

// Open returns a server that does not listen, and the handler of its requests, for a program that
// has a listener of its own. The caller sets the URL and closes the server.
func Open() (*Server, http.Handler) {
	s := newServer()
	s.Open()
	return s, s.handler()
}

func newServer() *Server {
	s := &Server{
		Token: DefaultToken, ApplicationID: defaultBotID,
		Bot:               User{ID: defaultBotID, Username: DefaultUsername, Discriminator: "0", Bot: true},
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
		buckets:           newBuckets(),
		gateway:           newGateway(),
	}
	s.Messages = fakenet.NewMessages(&s.State, s.botMessages, func(m Message) string { return m.Content })
	s.users[s.Bot.ID] = s.Bot
	return s
}

// Close ends the gateway's connections and the server.
func (s *Server) Close() {
	s.Shutdown(func() {
		s.Update(func() {
			for c := range s.gateway.conns {
				s.cutConnection(c)
			}
		})
		s.connections.Wait()
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

// discordEpoch is the first millisecond of 2015, the epoch of snowflakes.
const discordEpoch = 1420070400000

// newID returns the next snowflake. Snowflakes increase, as numbers.
func (s *Server) newID() string {
	s.lastID = max(s.lastID+1, uint64(s.Now().UnixMilli()-discordEpoch)<<22)
	return strconv.FormatUint(s.lastID, 10)
}

func parseID(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}
