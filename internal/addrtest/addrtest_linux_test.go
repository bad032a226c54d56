package addrtest_test

import (
	"net"
	"testing"

	"nanobot/internal/addrtest"
)

func TestAReservedAddressIsAssignedToNoOtherSocket(t *testing.T) {
	address := addrtest.Reserve(t)
	for range 3 {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	for range 2000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if l.Addr().String() == address {
			t.Error("it was given to somebody else")
		}
		defer l.Close()
	}
}
