package httpclient_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/internal/musttest"
)

func TestARequestThatItsGuardForbidsIsNotWritten(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	forbidden := errors.New("forbidden")
	for _, guard := range []error{forbidden, nil} {
		ctx := channels.WithGuard(t.Context(), func() error { return guard })
		req := musttest.Get(http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("x")))(t)
		o := httpclient.NewClient(nil, "").Fetch(req, 1<<20)
		if !errors.Is(o.Err, guard) || o.Written != (guard == nil) || asked != (guard == nil) {
			t.Errorf("with the guard %v the outcome is %+v", guard, o)
		}
	}
}

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

func TestATimeoutEndsOnlyLimitedRequests(t *testing.T) {
	const timeout = 20 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var late <-chan time.Time
		if r.URL.Path == "/late" {
			late = time.After(10 * timeout)
		}
		select {
		case <-late:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	c := httpclient.NewClient(&http.Client{Timeout: timeout}, "")
	get := func(path string) *http.Request {
		return musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody))(t)
	}
	if o := c.Fetch(get("/late"), 1<<20); o.Err != nil {
		t.Errorf("without a limit: %v", o.Err)
	}
	limited, cancel := c.Limited(get("/never"))
	defer cancel()
	if o := c.Fetch(limited, 1<<20); !errors.Is(o.Err, context.DeadlineExceeded) {
		t.Errorf("with a limit: %v", o.Err)
	}
}
