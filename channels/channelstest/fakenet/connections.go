package fakenet

import (
	"net"
	"net/http"
	"time"
)

// countConnection counts the open connections.
func (s *State) countConnection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.Update(func() { s.openConnections++ })
	case http.StateClosed, http.StateHijacked:
		s.Update(func() { s.openConnections-- })
	default: // other states do not change whether it is open
	}
}

// AwaitDisconnected waits until no connection is open, except websockets. After a bot has died, its
// last requests are then finished, and later calls are from another bot. It reports false after the
// timeout.
func (s *State) AwaitDisconnected(timeout time.Duration) bool {
	return s.AwaitFor(timeout, func() bool { return s.openConnections == 0 })
}
