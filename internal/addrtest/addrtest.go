// Package addrtest gives tests addresses to listen on that nobody else can be given meanwhile.
package addrtest

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Reserve returns an address of loopback that only this test can listen on until it ends, as often
// as it likes. A socket stays bound to it; as that one does not listen, and both allow reuse, the
// kernel lets a program listen there and gives the port to nobody who asks for any.
func Reserve(t testing.TB) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.CloseOnExec(socket)
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := errors.Join(unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
}
