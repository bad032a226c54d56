package discordtest

import (
	"cmp"
	"errors"
	"net"
	"time"

	"github.com/gorilla/websocket"
)

// writePackets sends the queued packets until the connection ends.
func (s *Server) writePackets(c *conn) {
	for {
		s.Lock()
		for len(c.outgoing) == 0 && c.closing == 0 && !c.closed {
			s.Wait()
		}
		out, closing, gone := c.outgoing, c.closing, c.closed
		c.outgoing = nil
		s.Unlock()
		if gone {
			return
		}
		for _, packet := range out {
			_ = c.ws.SetWriteDeadline(time.Now().Add(WaitLimit))
			switch err := c.ws.WriteMessage(websocket.TextMessage, packet); {
			case errors.Is(err, websocket.ErrCloseSent):
				return // the client has sent a close frame, and readPackets ends the connection
			case err != nil:
				s.Update(func() { s.cutConnection(c) })
				return
			}
		}
		if closing != 0 {
			message := websocket.FormatCloseMessage(closing, closeText[closing])
			_ = c.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(WaitLimit))
			// readPackets waits for the client's close frame. Unread bytes would make the kernel
			// reset the connection, and the client might never see the code.
			_ = c.ws.SetReadDeadline(time.Now().Add(WaitLimit))
			return
		}
	}
}

// readPackets handles the client's packets until the connection ends.
func (s *Server) readPackets(c *conn) {
	for {
		kind, body, err := c.ws.ReadMessage()
		if err != nil {
			s.Update(func() { s.connectionLost(c, err) })
			return
		}
		s.Update(func() {
			if c.closing == 0 && !c.closed {
				s.handlePacket(c, kind, body)
			}
		})
	}
}

// extendReadDeadline sets how long the client may be silent.
func (s *Server) extendReadDeadline(c *conn) {
	_ = c.ws.SetReadDeadline(time.Now().Add(cmp.Or(s.gateway.readTimeout, 2*c.heartbeatInterval)))
}

// connectionLost ends a connection that can no longer be read. A client that closes with 1000 or
// 1001 ends its session.
func (s *Server) connectionLost(c *conn, err error) {
	var closed *websocket.CloseError
	var late net.Error
	if errors.As(err, &closed) {
		s.gateway.stats.Closes = append(s.gateway.stats.Closes, closed.Code)
		if c.session != nil && (closed.Code == websocket.CloseNormalClosure || closed.Code == websocket.CloseGoingAway) {
			delete(s.gateway.sessions, c.session.id)
		}
	} else if c.closing == 0 && !c.closed && errors.As(err, &late) && late.Timeout() {
		s.expireSession(c.session)
		message := websocket.FormatCloseMessage(4009, closeText[4009])
		_ = c.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
	}
	s.cutConnection(c)
}

// cutConnection closes a connection without a close frame. The session can be resumed.
func (s *Server) cutConnection(c *conn) {
	c.closed = true
	delete(s.gateway.conns, c)
	s.detachSession(c)
	_ = c.ws.Close()
}

// detachSession separates a connection from its session.
func (s *Server) detachSession(c *conn) {
	if c.session != nil && c.session.conn == c {
		c.session.conn, c.session.disconnectedAt = nil, time.Now()
	}
	c.session = nil
}

// expireSession ends a session, which then cannot be resumed.
func (s *Server) expireSession(old *session) {
	if old != nil {
		delete(s.gateway.sessions, old.id)
	}
}

// closeConnection closes a connection with a code after the queued packets are sent.
func (s *Server) closeConnection(c *conn, code int) {
	if code == 4007 || code == 4009 {
		s.expireSession(c.session)
	}
	s.detachSession(c)
	c.closing = code
}

// queuePacket queues a packet, unless the gateway or the connection is muted or ending.
func (s *Server) queuePacket(c *conn, f packet) {
	if c.muted || s.gateway.muted || c.closed || c.closing != 0 {
		return
	}
	c.outgoing = append(c.outgoing, encode(f))
}

// closeText has the reasons that Discord sends with the close codes.
var closeText = map[int]string{
	4000: "Unknown error.", 4001: "Unknown opcode.", 4002: "Error while decoding payload.", 4003: "Not authenticated.",
	4004: "Authentication failed.", 4005: "Already authenticated.", 4007: "Invalid seq.", 4008: "Rate limited.",
	4009: "Session timed out.", 4010: "Invalid shard.", 4011: "Sharding required.", 4012: "Invalid API version.",
	4013: "Invalid intent(s).", 4014: "Disallowed intent(s).",
}
