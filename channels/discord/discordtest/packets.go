package discordtest

import (
	"encoding/json"
	"time"
)

// The limits of the gateway: bytes of a packet, packets per minute, and sessions without a
// connection.
const (
	maxPacket           = 4096
	maxPackets          = 120
	maxDetachedSessions = 16
)

// handlePacket handles one packet of the client.
func (s *Server) handlePacket(c *conn, kind int, body []byte) {
	now := time.Now()
	c.packetTimes = append(dropBefore(c.packetTimes, now.Add(-time.Minute)), now)
	var f packet
	switch {
	case kind != 1 || len(body) > maxPacket || json.Unmarshal(body, &f) != nil:
		s.closeConnection(c, 4002)
	case len(c.packetTimes) > maxPackets:
		s.closeConnection(c, 4008)
	case f.Op == opHeartbeat:
		s.gateway.stats.Heartbeats++
		s.extendReadDeadline(c)
		if !s.gateway.noACK {
			s.queuePacket(c, packet{Op: opACK})
		}
	case f.Op == opIdentify && c.session == nil:
		s.identify(c, f.Data)
	case f.Op == opResume && c.session == nil:
		s.resume(c, f.Data)
	case f.Op == opIdentify || f.Op == opResume:
		s.closeConnection(c, 4005)
	case f.Op != opPresence && f.Op != opVoice && f.Op != opMembers:
		s.closeConnection(c, 4001)
	case c.session == nil:
		s.closeConnection(c, 4003)
	}
}

// dropBefore removes the times before start.
func dropBefore(times []time.Time, start time.Time) []time.Time {
	for len(times) > 0 && times[0].Before(start) {
		times = times[1:]
	}
	return times
}

// addEvent adds an event to a session, and sends it if the session is connected.
func (s *Server) addEvent(n *session, event string, data json.RawMessage) {
	f := packet{Op: opDispatch, Type: event, Seq: len(n.events) + 1, Data: data}
	n.events = append(n.events, f)
	if n.conn != nil {
		s.queuePacket(n.conn, f)
	}
}

// dispatch adds an event to all sessions that have the intent.
func (s *Server) dispatch(event string, intent int, data any) {
	s.dispatchPerIntents(event, intent, func(int) any { return data })
}

func (s *Server) dispatchPerIntents(event string, intent int, data func(intents int) any) {
	for _, n := range s.gateway.sessions {
		if intent != 0 && n.intents&intent == 0 {
			continue
		}
		body, times := encode(data(n.intents)), 1
		if s.gateway.eventCopies != nil {
			times = s.gateway.eventCopies(event, body)
		}
		for range times {
			s.addEvent(n, event, body)
		}
	}
}
