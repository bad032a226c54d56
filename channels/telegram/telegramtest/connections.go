package telegramtest

import (
	"net"
	"net/http"
	"time"
)

// connected counts connections.
func (s *Server) connected(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.update(func() { s.open++ })
	case http.StateClosed, http.StateHijacked:
		s.update(func() { s.open-- })
	default: // it is open all the while
	}
}

// AwaitDisconnected waits until no connection is open. When the bot has died, all that it was still
// asking for is then carried out or will never be, and what is called later is another bot's. It
// reports false when that takes longer than patience.
func (s *Server) AwaitDisconnected(patience time.Duration) bool {
	return s.awaitFor(patience, func() bool { return s.open == 0 })
}
