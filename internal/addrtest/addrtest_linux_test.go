package addrtest_test

import (
	"net"
	"testing"

	"nanobot/internal/addrtest"
	"nanobot/internal/musttest"
)

func TestAReservedAddressIsAssignedToNoOtherSocket(t *testing.T) {
	address := addrtest.Reserve(t)
	for range 3 {
		l := musttest.Get(net.Listen("tcp", address))(t)
		l.Close()
	}
	for range 2000 {
		l := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		if l.Addr().String() == address {
			t.Error("it was given to somebody else")
		}
		defer l.Close()
	}
}
