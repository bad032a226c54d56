package discordtest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// Handshake is how a connection to the gateway goes. The zero Handshake is a right one.
type Handshake struct {
	RefuseStatus int  // the HTTP status in place of a connection
	NoHello      bool // it is accepted, and never anything is sent
	// In place of READY or RESUMED:
	NoReply        bool // nothing, ever
	Reconnect      bool // op 7
	InvalidSession bool // op 9, not resumable
	CloseCode      int  // a close code
	CutConnection  bool // the connection is cut
	// OnlyResume keeps it for the next RESUME; connections that identify go right.
	OnlyResume bool
}

// StartLimit is how many sessions a bot may start.
type StartLimit struct {
	Total, Remaining int
	MaxConcurrency   int           // IDENTIFYs in a Window; more are answered with op 9
	Window           time.Duration // 5 seconds at Discord's
}

// Stats counts what happened at the gateway.
type Stats struct {
	Connects   int
	Identifies int
	Readies    int
	Resumes    int // that were asked for
	Resumed    int // that worked
	Heartbeats int
	Connected  int   // sessions that somebody listens to now
	Closes     []int // the codes that the bot hung up with
}

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats()
}

func (s *Server) stats() Stats {
	out := s.gateway.stats
	out.Closes = slices.Clone(out.Closes)
	for _, n := range s.gateway.sessions {
		if n.conn != nil && !n.conn.mute {
			out.Connected++
		}
	}
	return out
}

// AwaitStats waits until the counts satisfy a condition, and fails the test if they do not.
func (s *Server) AwaitStats(t testing.TB, enough func(Stats) bool) (now Stats) {
	t.Helper()
	if !s.await(WaitLimit, func() bool { now = s.stats(); return enough(now) }) {
		t.Fatalf("the gateway has not got there after %s: %+v", WaitLimit, now)
	}
	return now
}

// AwaitReady waits until the bot is connected and has been told READY or RESUMED.
func (s *Server) AwaitReady(t testing.TB) {
	t.Helper()
	s.AwaitStats(t, func(now Stats) bool { return now.Connected > 0 })
}

// SetPrivilegedIntents says which privileged intents are switched on in the developer portal. At first all
// are.
func (s *Server) SetPrivilegedIntents(intents int) {
	s.update(func() { s.portal = intents & privileged })
}

// SetHeartbeatInterval sets the heartbeat interval of the connections to come. Who is silent for twice as
// long is closed with 4009.
func (s *Server) SetHeartbeatInterval(d time.Duration) { s.update(func() { s.gateway.beat = d }) }

// SetHeartbeatACK says whether heartbeats are acknowledged.
func (s *Server) SetHeartbeatACK(on bool) { s.update(func() { s.gateway.noACK = !on }) }

// SetMuted has the gateway accept and read, and send nothing at all. What is not sent can still
// be resumed.
func (s *Server) SetMuted(on bool) { s.update(func() { s.gateway.mute = on }) }

// SetStartLimit replaces how many sessions the bot may start, which is 1000 at once at first.
func (s *Server) SetStartLimit(l StartLimit) { s.update(func() { s.gateway.start = l }) }

// SetEventCopies has each event asked about, and delivered so often: 0 drops it for good, 2 doubles
// it. Nil is once. The function must not call the server.
func (s *Server) SetEventCopies(f func(event string, data json.RawMessage) int) {
	s.update(func() { s.gateway.deliver = f })
}

// GuildOutage tells of a guild that it is unavailable, and that it is back after something was done.
func (s *Server) GuildOutage(guild string, during func()) {
	s.update(func() { s.dispatch("GUILD_DELETE", intentGuilds, map[string]any{"id": guild, "unavailable": true}) })
	during()
	s.update(func() { s.dispatch("GUILD_CREATE", intentGuilds, s.guildCreate(guild)) })
}

// PlanHandshakes queues how the next connections go.
func (s *Server) PlanHandshakes(h ...Handshake) {
	s.update(func() { s.gateway.next = append(s.gateway.next, h...) })
}

// RequestHeartbeat asks all connections for a heartbeat, op 1.
func (s *Server) RequestHeartbeat() { s.each(func(c *conn) { s.send(c, frame{Op: opHeartbeat}) }) }

// RequestReconnect asks all connections to reconnect and resume, op 7.
func (s *Server) RequestReconnect() { s.each(func(c *conn) { s.send(c, frame{Op: opReconnect}) }) }

// InvalidateSessions takes the session from all connections, op 9.
func (s *Server) InvalidateSessions(resumable bool) {
	s.each(func(c *conn) {
		s.send(c, frame{Op: opInvalid, Data: encode(resumable)})
		if !resumable {
			s.expire(c.session)
		}
		s.leave(c)
	})
}

// CloseConnections closes all connections with a code.
func (s *Server) CloseConnections(code int) { s.each(func(c *conn) { s.hangUp(c, code) }) }

// CutConnections cuts all connections.
func (s *Server) CutConnections() { s.each(s.cut) }

// ExpireSessions makes it impossible to resume: what happens meanwhile is lost to the gateway.
func (s *Server) ExpireSessions() {
	s.update(func() {
		for _, n := range s.gateway.sessions {
			if n.conn != nil {
				s.leave(n.conn)
			}
		}
		clear(s.gateway.sessions)
	})
}

func (s *Server) each(do func(*conn)) {
	s.update(func() {
		for c := range s.gateway.conns {
			do(c)
		}
	})
}
