package discordtest

import (
	"encoding/json"
	"time"
)

// What the gateway takes: bytes of a packet, and packets in a minute.
const (
	maxPacket  = 4096
	maxPackets = 120
	maxLeft    = 16 // sessions that nobody listens to
)

// handle takes one packet of the client.
func (s *Server) handle(c *conn, kind int, body []byte) {
	now := time.Now()
	c.packets = append(since(c.packets, now.Add(-time.Minute)), now)
	var f frame
	switch {
	case kind != 1 || len(body) > maxPacket || json.Unmarshal(body, &f) != nil:
		s.hangUp(c, 4002)
	case len(c.packets) > maxPackets:
		s.hangUp(c, 4008)
	case f.Op == opHeartbeat:
		s.gateway.stats.Heartbeats++
		s.expectBeat(c)
		if !s.gateway.noACK {
			s.send(c, frame{Op: opACK})
		}
	case f.Op == opIdentify && c.session == nil:
		s.identify(c, f.Data)
	case f.Op == opResume && c.session == nil:
		s.resume(c, f.Data)
	case f.Op == opIdentify || f.Op == opResume:
		s.hangUp(c, 4005)
	case f.Op != opPresence && f.Op != opVoice && f.Op != opMembers:
		s.hangUp(c, 4001)
	case c.session == nil:
		s.hangUp(c, 4003)
	}
}

// since drops what is too old.
func since(times []time.Time, start time.Time) []time.Time {
	for len(times) > 0 && times[0].Before(start) {
		times = times[1:]
	}
	return times
}

// tell adds an event to what a session is told, and sends it if somebody listens.
func (s *Server) tell(n *session, event string, data json.RawMessage) {
	f := frame{Op: opDispatch, Type: event, Seq: len(n.log) + 1, Data: data}
	n.log = append(n.log, f)
	if n.conn != nil {
		s.send(n.conn, f)
	}
}

// dispatch tells all sessions with an intent of something.
func (s *Server) dispatch(event string, intent int, data any) {
	s.dispatchTo(event, intent, func(int) any { return data })
}

func (s *Server) dispatchTo(event string, intent int, data func(intents int) any) {
	for _, n := range s.gateway.sessions {
		if intent != 0 && n.intents&intent == 0 {
			continue
		}
		body, times := encode(data(n.intents)), 1
		if s.gateway.deliver != nil {
			times = s.gateway.deliver(event, body)
		}
		for range times {
			s.tell(n, event, body)
		}
	}
}
