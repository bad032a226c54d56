// Package addrtest reserves addresses that a test listens on, so that no other program gets them.
// It does not know the servers that listen there.
package addrtest

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
)

// Reserve returns a loopback address that stays reserved until the test ends. A socket that does
// not listen stays bound to it with SO_REUSEADDR. The kernel then assigns the port to no other
// socket, and programs that set SO_REUSEADDR and name the port may listen on it, repeatedly.
func Reserve(t testing.TB) string {
	t.Helper()
	socket := musttest.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0))(t)
	unix.CloseOnExec(socket)
	t.Cleanup(func() { _ = unix.Close(socket) })
	musttest.Do(t, errors.Join(unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})))
	bound := musttest.Get(unix.Getsockname(socket))(t)
	return fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
}
