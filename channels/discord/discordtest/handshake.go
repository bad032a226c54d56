package discordtest

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The intents that matter here, those that must be switched on in the developer portal, and all
// there are.
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

func (s *Server) rightToken(token string) bool { return strings.TrimPrefix(token, "Bot ") == s.Token }

// identify starts a session.
func (s *Server) identify(c *conn, data json.RawMessage) {
	s.gateway.stats.Identifies++
	var in struct {
		Token   string  `json:"token"`
		Intents *int    `json:"intents"`
		Shard   *[2]int `json:"shard"`
	}
	l := &s.gateway.start
	s.gateway.starts = append(since(s.gateway.starts, time.Now().Add(-l.Window)), time.Now())
	switch {
	case json.Unmarshal(data, &in) != nil:
		s.hangUp(c, 4002)
	case !s.rightToken(in.Token):
		s.hangUp(c, 4004)
	case in.Shard != nil && (in.Shard[0] < 0 || in.Shard[0] >= in.Shard[1]):
		s.hangUp(c, 4010)
	case in.Intents == nil || *in.Intents&^allIntents != 0:
		s.hangUp(c, 4013)
	case *in.Intents&privileged&^s.portal != 0:
		s.hangUp(c, 4014)
	case len(s.gateway.starts) > l.MaxConcurrency || l.Remaining <= 0:
		s.send(c, frame{Op: opInvalid, Data: encode(false)})
	case s.planned(c):
	default:
		l.Remaining--
		s.begin(c, *in.Intents)
	}
}

// begin makes a session and tells it of the world.
func (s *Server) begin(c *conn, intents int) {
	s.gateway.tidy()
	n := &session{id: rand.Text(), intents: intents, conn: c}
	s.gateway.sessions[n.id], c.session = n, n
	guilds := []map[string]any{}
	for id := range s.guilds {
		guilds = append(guilds, map[string]any{"id": id, "unavailable": true})
	}
	s.tell(n, "READY", encode(map[string]any{
		"v": 10, "user": s.Bot, "guilds": guilds, "session_id": n.id, "resume_gateway_url": s.gatewayURL(),
		"application": map[string]any{"id": s.ApplicationID, "flags": 0}, "shard": []int{0, 1},
		"private_channels": []any{},
	}))
	s.gateway.stats.Readies++
	for id := range s.guilds {
		if intents&intentGuilds != 0 {
			s.tell(n, "GUILD_CREATE", encode(s.guildCreate(id)))
		}
	}
}

// tidy forgets the sessions that were left first. Discord forgets them after some minutes; a bot
// that is killed over and over leaves many in less.
func (g *gateway) tidy() {
	var left []*session
	for _, n := range g.sessions {
		if n.conn == nil {
			left = append(left, n)
		}
	}
	slices.SortFunc(left, func(a, b *session) int { return a.left.Compare(b.left) })
	for _, n := range left[:max(len(left)-maxLeft, 0)] {
		delete(g.sessions, n.id)
	}
}

// resume goes on with a session behind what the client has got.
func (s *Server) resume(c *conn, data json.RawMessage) {
	s.gateway.stats.Resumes++
	if h := s.gateway.plan(true); h != (Handshake{}) {
		c.plan = h
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
		s.hangUp(c, 4002)
	case !s.rightToken(in.Token):
		s.hangUp(c, 4004)
	case s.planned(c):
	case old == nil:
		s.send(c, frame{Op: opInvalid, Data: encode(false)})
	case in.Seq < 0 || in.Seq > len(old.log):
		s.expire(old)
		s.hangUp(c, 4007)
	default:
		if old.conn != nil {
			s.cut(old.conn) // the client has given it up, whether it has said so or not
		}
		old.conn, c.session = c, old
		for _, f := range old.log[in.Seq:] {
			s.send(c, f)
		}
		s.tell(old, "RESUMED", encode(map[string]any{}))
		s.gateway.stats.Resumed++
	}
}

// planned does what PlanHandshakes wants in place of READY or RESUMED, and tells whether that was
// anything.
func (s *Server) planned(c *conn) bool {
	h := c.plan
	c.plan = Handshake{}
	switch {
	case h.NoReply:
		c.mute = true
	case h.Reconnect:
		s.send(c, frame{Op: opReconnect})
	case h.InvalidSession:
		s.send(c, frame{Op: opInvalid, Data: encode(false)})
	case h.CloseCode != 0:
		s.hangUp(c, h.CloseCode)
	case h.CutConnection:
		s.cut(c)
	default:
		return false
	}
	return true
}
