package postgrestest

import (
	"fmt"
	"net"
	"testing"
)

// StartTCP starts a server that also listens on loopback, as one on another machine would, and
// returns its URL. It ends with the test. If there is no PostgreSQL, the test is skipped.
func StartTCP(t testing.TB, settings ...string) (server *Server, url string) {
	t.Helper()
	if _, err := program("postgres"); err != nil {
		t.Skip("PostgreSQL is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().(*net.TCPAddr)
	_ = l.Close()
	s, err := Start(append(settings, "listen_addresses=127.0.0.1", fmt.Sprint("port=", address.Port))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s, fmt.Sprintf("postgres://nanobot@%s/postgres?sslmode=disable", address)
}

// PID returns the process ID of the server, whose other processes are its children.
func (s *Server) PID() int { return s.cmd.Process.Pid }
