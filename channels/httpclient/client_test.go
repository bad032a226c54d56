package httpclient_test

import (
	"bufio"
	"net"
	"net/http"
	"testing"

	"nanobot/channels/httpclient"
	"nanobot/internal/musttest"
)

// The body of such an answer is the connection itself, which the server may keep open for ever.
func TestAServerThatSwitchesProtocolsIsNotWaitedFor(t *testing.T) {
	listener := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"))
		_, _ = in.ReadByte() // until the client closes
	}()
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String(), http.NoBody))(t)
	if o := httpclient.NewClient(nil, "").Fetch(req, 1<<20); o.Err == nil || !o.Written {
		t.Errorf("the outcome is %+v", o)
	}
	<-done
}
