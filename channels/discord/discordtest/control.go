package discordtest

import (
	"encoding/json"
	"slices"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// HandshakeFault is a fault of a connection to the gateway. The zero HandshakeFault is no fault.
type HandshakeFault struct {
	RefuseStatus int  // refuse the connection with this HTTP status
	NoHello      bool // accept the connection, and never send anything
	// The following replace READY or RESUMED.
	NoReply        bool // never send anything
	Reconnect      bool // op 7
	InvalidSession bool // op 9, not resumable
	CloseCode      int  // close with this code
	CutConnection  bool // cut the connection
	// OnlyResume keeps the fault for the next RESUME; connections that identify succeed.
	OnlyResume bool
}

// StartLimit is the limit of sessions that a bot may start.
type StartLimit struct {
	Total, Remaining int
	MaxConcurrency   int           // IDENTIFYs per Window; more are answered with op 9
	Window           time.Duration // 5 seconds in the real Discord
}

// Stats counts the events of the gateway.
type Stats struct {
	Connects   int
	Identifies int
	Readies    int
	Resumes    int // requested
	Resumed    int // successful
	Heartbeats int
	Connected  int      // sessions with a connection now
	Closes     []int    // the codes that the bot has closed connections with
	From       []string // the addresses from which sessions were started and resumed, in order
}

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	s.Lock()
	defer s.Unlock()
	return s.stats()
}

func (s *Server) stats() Stats {
	out := s.gateway.stats
	out.Closes, out.From = slices.Clone(out.Closes), slices.Clone(out.From)
	for _, n := range s.gateway.sessions {
		if n.conn != nil && !n.conn.muted {
			out.Connected++
		}
	}
	return out
}

// AwaitStats waits until enough reports true for the counts, and fails the test after WaitLimit.
func (s *Server) AwaitStats(t fakenet.TB, enough func(Stats) bool) (now Stats) {
	t.Helper()
	if !s.AwaitFor(WaitLimit, func() bool { now = s.stats(); return enough(now) }) {
		t.Fatalf("the gateway did not reach the expected state within %s: %+v", WaitLimit, now)
	}
	return now
}

// AwaitReady waits until the bot is connected and READY or RESUMED was sent.
func (s *Server) AwaitReady(t fakenet.TB) {
	t.Helper()
	s.AwaitStats(t, func(now Stats) bool { return now.Connected > 0 })
}

// AwaitConnected is AwaitReady with a timeout. It reports false after it.
func (s *Server) AwaitConnected(timeout time.Duration) bool {
	return s.AwaitFor(timeout, func() bool { return s.stats().Connected > 0 })
}

// SetPrivilegedIntents sets the privileged intents that are enabled in the developer portal. The
// default is all.
func (s *Server) SetPrivilegedIntents(intents int) {
	s.Update(func() { s.privilegedIntents = intents & privileged })
}

// SetHeartbeatInterval sets the heartbeat interval of future connections. A client that sends
// nothing for twice the interval is closed with 4009, unless SetReadTimeout is called.
func (s *Server) SetHeartbeatInterval(d time.Duration) {
	s.Update(func() { s.gateway.heartbeatInterval = d })
}

// SetReadTimeout sets how long a client may send nothing, instead of twice the heartbeat interval:
// long in a test where only the client is to close connections.
func (s *Server) SetReadTimeout(d time.Duration) { s.Update(func() { s.gateway.readTimeout = d }) }

// SetHeartbeatACK sets whether heartbeats are acknowledged.
func (s *Server) SetHeartbeatACK(on bool) { s.Update(func() { s.gateway.noACK = !on }) }

// SetMuted sets whether the gateway sends nothing while it still accepts connections and reads. A
// resume delivers the missed events.
func (s *Server) SetMuted(on bool) { s.Update(func() { s.gateway.muted = on }) }

// SetStartLimit sets the limit of sessions. The default is 1000 sessions in total, and 1000
// IDENTIFYs within 5 seconds.
func (s *Server) SetStartLimit(l StartLimit) { s.Update(func() { s.gateway.startLimit = l }) }

// SetEventCopies sets a function that returns how many copies of an event are delivered: 0 drops
// the event, 2 repeats it. Nil means one copy. The function must not call the server.
func (s *Server) SetEventCopies(f func(event string, data json.RawMessage) int) {
	s.Update(func() { s.gateway.eventCopies = f })
}

// GuildOutage reports that a guild is unavailable, calls during, and reports that the guild is
// available again.
func (s *Server) GuildOutage(guild string, during func()) {
	s.Update(func() { s.dispatch("GUILD_DELETE", intentGuilds, map[string]any{"id": guild, "unavailable": true}) })
	during()
	s.Update(func() { s.dispatch("GUILD_CREATE", intentGuilds, s.guildCreateEvent(guild)) })
}

// QueueHandshakeFaults queues faults for the next connections.
func (s *Server) QueueHandshakeFaults(h ...HandshakeFault) {
	s.Update(func() { s.gateway.handshakeFaults = append(s.gateway.handshakeFaults, h...) })
}

// RequestHeartbeat asks all connections for a heartbeat, op 1.
func (s *Server) RequestHeartbeat() {
	s.forEachConnection(func(c *conn) { s.queuePacket(c, packet{Op: opHeartbeat}) })
}

// RequestReconnect asks all connections to reconnect and resume, op 7.
func (s *Server) RequestReconnect() {
	s.forEachConnection(func(c *conn) { s.queuePacket(c, packet{Op: opReconnect}) })
}

// InvalidateSessions ends the sessions of all connections, op 9.
func (s *Server) InvalidateSessions(resumable bool) {
	s.forEachConnection(func(c *conn) {
		s.queuePacket(c, packet{Op: opInvalid, Data: encode(resumable)})
		if !resumable {
			s.expireSession(c.session)
		}
		s.detachSession(c)
	})
}

// CloseConnections closes all connections with a code.
func (s *Server) CloseConnections(code int) {
	s.forEachConnection(func(c *conn) { s.closeConnection(c, code) })
}

// CutConnections cuts all connections without a close frame.
func (s *Server) CutConnections() { s.forEachConnection(s.cutConnection) }

// ExpireSessions makes resuming impossible, so that the gateway does not deliver the events that
// the bot missed.
func (s *Server) ExpireSessions() {
	s.Update(func() {
		for _, n := range s.gateway.sessions {
			if n.conn != nil {
				s.detachSession(n.conn)
			}
		}
		clear(s.gateway.sessions)
	})
}

func (s *Server) forEachConnection(do func(*conn)) {
	s.Update(func() {
		for c := range s.gateway.conns {
			do(c)
		}
	})
}
