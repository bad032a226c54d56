package discordtest

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The intents that the server knows, those that must be enabled in the developer portal, and all
// that exist.
const (
	intentGuilds   = 1 << 0
	intentMembers  = 1 << 1
	intentPresence = 1 << 8
	intentMessages = 1 << 9
	intentDMs      = 1 << 12
	intentContent  = 1 << 15

	privileged = intentMembers | intentPresence | intentContent
	allIntents = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
)

func (s *Server) isBotToken(token string) bool { return strings.TrimPrefix(token, "Bot ") == s.Token }

// identify starts a session.
func (s *Server) identify(c *conn, data json.RawMessage) {
	s.gateway.stats.Identifies++
	var in struct {
		Token   string  `json:"token"`
		Intents *int    `json:"intents"`
		Shard   *[2]int `json:"shard"`
	}
	l := &s.gateway.startLimit
	s.gateway.identifyTimes = append(dropBefore(s.gateway.identifyTimes, time.Now().Add(-l.Window)), time.Now())
	switch {
	case json.Unmarshal(data, &in) != nil:
		s.closeConnection(c, 4002)
	case !s.isBotToken(in.Token):
		s.closeConnection(c, 4004)
	case in.Shard != nil && (in.Shard[0] < 0 || in.Shard[0] >= in.Shard[1]):
		s.closeConnection(c, 4010)
	case in.Intents == nil || *in.Intents&^allIntents != 0:
		s.closeConnection(c, 4013)
	case *in.Intents&privileged&^s.privilegedIntents != 0:
		s.closeConnection(c, 4014)
	case len(s.gateway.identifyTimes) > l.MaxConcurrency || l.Remaining <= 0:
		s.queuePacket(c, packet{Op: opInvalid, Data: encode(false)})
	case s.applyHandshakeFault(c):
	default:
		l.Remaining--
		s.startSession(c, *in.Intents)
	}
}

// startSession starts a session and sends READY and the guilds.
func (s *Server) startSession(c *conn, intents int) {
	s.gateway.forgetOldSessions()
	n := &session{id: rand.Text(), intents: intents, conn: c}
	s.gateway.sessions[n.id], c.session = n, n
	guilds := []map[string]any{}
	for id := range s.guilds {
		guilds = append(guilds, map[string]any{"id": id, "unavailable": true})
	}
	s.addEvent(n, "READY", encode(map[string]any{
		"v": 10, "user": s.Bot, "guilds": guilds, "session_id": n.id, "resume_gateway_url": gatewayURL(c.host),
		"application": map[string]any{"id": s.ApplicationID, "flags": 0}, "shard": []int{0, 1},
		"private_channels": []any{},
	}))
	s.gateway.stats.Readies++
	s.gateway.stats.From = append(s.gateway.stats.From, c.from)
	for id := range s.guilds {
		if intents&intentGuilds != 0 {
			s.addEvent(n, "GUILD_CREATE", encode(s.guildCreateEvent(id)))
		}
	}
}

// forgetOldSessions removes the sessions that have been disconnected longest. Discord removes them
// after some minutes, but a bot that is killed repeatedly leaves many in less time.
func (g *gateway) forgetOldSessions() {
	var left []*session
	for _, n := range g.sessions {
		if n.conn == nil {
			left = append(left, n)
		}
	}
	slices.SortFunc(left, func(a, b *session) int { return a.disconnectedAt.Compare(b.disconnectedAt) })
	for _, n := range left[:max(len(left)-maxDetachedSessions, 0)] {
		delete(g.sessions, n.id)
	}
}

// resume continues a session after the last event that the client has received.
func (s *Server) resume(c *conn, data json.RawMessage) {
	s.gateway.stats.Resumes++
	if h := s.gateway.nextHandshakeFault(true); h != (HandshakeFault{}) {
		c.handshakeFault = h
	}
	var in struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	err := json.Unmarshal(data, &in)
	old := s.gateway.sessions[in.Session]
	switch {
	case err != nil:
		s.closeConnection(c, 4002)
	case !s.isBotToken(in.Token):
		s.closeConnection(c, 4004)
	case s.applyHandshakeFault(c):
	case old == nil:
		s.queuePacket(c, packet{Op: opInvalid, Data: encode(false)})
	case in.Seq < 0 || in.Seq > len(old.events):
		s.expireSession(old)
		s.closeConnection(c, 4007)
	default:
		if old.conn != nil {
			s.cutConnection(old.conn) // the client has abandoned it, with or without a close frame
		}
		old.conn, c.session = c, old
		for _, f := range old.events[in.Seq:] {
			s.queuePacket(c, f)
		}
		s.addEvent(old, "RESUMED", encode(map[string]any{}))
		s.gateway.stats.Resumed++
		s.gateway.stats.From = append(s.gateway.stats.From, c.from)
	}
}

// applyHandshakeFault applies the planned fault instead of READY or RESUMED, and reports whether
// there was one.
func (s *Server) applyHandshakeFault(c *conn) bool {
	h := c.handshakeFault
	c.handshakeFault = HandshakeFault{}
	switch {
	case h.NoReply:
		c.muted = true
	case h.Reconnect:
		s.queuePacket(c, packet{Op: opReconnect})
	case h.InvalidSession:
		s.queuePacket(c, packet{Op: opInvalid, Data: encode(false)})
	case h.CloseCode != 0:
		s.closeConnection(c, h.CloseCode)
	case h.CutConnection:
		s.cutConnection(c)
	default:
		return false
	}
	return true
}
