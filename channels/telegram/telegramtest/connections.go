package telegramtest

import (
	"net"
	"net/http"
	"time"
)

// countConnection counts the open connections.
func (s *Server) countConnection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.update(func() { s.openConnections++ })
	case http.StateClosed, http.StateHijacked:
		s.update(func() { s.openConnections-- })
	default: // other states do not change whether it is open
	}
}

// AwaitDisconnected waits until no connection is open. After a bot has died, its last requests are
// then finished, and later calls are from another bot. It reports false after the timeout.
func (s *Server) AwaitDisconnected(timeout time.Duration) bool {
	return s.awaitFor(timeout, func() bool { return s.openConnections == 0 })
}
