package discordtest

import (
	"errors"
	"net"
	"time"

	"github.com/gorilla/websocket"
)

// writeAll sends what is queued until the connection ends.
func (s *Server) writeAll(c *conn) {
	for {
		s.mu.Lock()
		for len(c.out) == 0 && c.closing == 0 && !c.gone {
			s.more.Wait()
		}
		out, closing, gone := c.out, c.closing, c.gone
		c.out = nil
		s.mu.Unlock()
		if gone {
			return
		}
		for _, packet := range out {
			_ = c.ws.SetWriteDeadline(time.Now().Add(WaitLimit))
			switch err := c.ws.WriteMessage(websocket.TextMessage, packet); {
			case errors.Is(err, websocket.ErrCloseSent):
				return // the client has said goodbye, and the reader ends the connection
			case err != nil:
				s.update(func() { s.cut(c) })
				return
			}
		}
		if closing != 0 {
			message := websocket.FormatCloseMessage(closing, closeText[closing])
			_ = c.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
			// The reader waits for the client to hang up too: bytes left unread would make the
			// kernel reset the connection, and the client might never see the code.
			_ = c.ws.SetReadDeadline(time.Now().Add(2 * time.Second))
			return
		}
	}
}

// readAll takes what the client sends until the connection ends.
func (s *Server) readAll(c *conn) {
	s.expectBeat(c)
	for {
		kind, body, err := c.ws.ReadMessage()
		if err != nil {
			s.update(func() { s.lost(c, err) })
			return
		}
		s.update(func() {
			if c.closing == 0 && !c.gone {
				s.handle(c, kind, body)
			}
		})
	}
}

// expectBeat gives the client twice the heartbeat interval until the next heartbeat.
func (s *Server) expectBeat(c *conn) { _ = c.ws.SetReadDeadline(time.Now().Add(2 * c.beat)) }

// lost ends a connection that cannot be read any more. A client that says goodbye with 1000 or 1001
// ends its session.
func (s *Server) lost(c *conn, err error) {
	var closed *websocket.CloseError
	var late net.Error
	if errors.As(err, &closed) {
		s.gateway.stats.Closes = append(s.gateway.stats.Closes, closed.Code)
		if c.session != nil && (closed.Code == websocket.CloseNormalClosure || closed.Code == websocket.CloseGoingAway) {
			delete(s.gateway.sessions, c.session.id)
		}
	} else if c.closing == 0 && !c.gone && errors.As(err, &late) && late.Timeout() {
		s.expire(c.session)
		message := websocket.FormatCloseMessage(4009, closeText[4009])
		_ = c.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
	}
	s.cut(c)
}

// cut ends a connection without a word. Its session stays.
func (s *Server) cut(c *conn) {
	c.gone = true
	delete(s.gateway.conns, c)
	s.leave(c)
	_ = c.ws.Close()
}

// leave parts a connection and its session.
func (s *Server) leave(c *conn) {
	if c.session != nil && c.session.conn == c {
		c.session.conn, c.session.left = nil, time.Now()
	}
	c.session = nil
}

// expire ends a session: it cannot be resumed.
func (s *Server) expire(old *session) {
	if old != nil {
		delete(s.gateway.sessions, old.id)
	}
}

// hangUp closes a connection with a code once what is queued is sent.
func (s *Server) hangUp(c *conn, code int) {
	if code == 4007 || code == 4009 {
		s.expire(c.session)
	}
	s.leave(c)
	c.closing = code
}

// send queues a packet, unless the server is silent.
func (s *Server) send(c *conn, f frame) {
	if c.mute || s.gateway.mute || c.gone || c.closing != 0 {
		return
	}
	c.out = append(c.out, encode(f))
}

// closeText are the reasons that come with the codes.
var closeText = map[int]string{
	4000: "Unknown error.", 4001: "Unknown opcode.", 4002: "Error while decoding payload.", 4003: "Not authenticated.",
	4004: "Authentication failed.", 4005: "Already authenticated.", 4007: "Invalid seq.", 4008: "Rate limited.",
	4009: "Session timed out.", 4010: "Invalid shard.", 4011: "Sharding required.", 4012: "Invalid API version.",
	4013: "Invalid intent(s).", 4014: "Disallowed intent(s).",
}
