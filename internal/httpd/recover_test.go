package httpd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// startServer serves a handler until the test ends.
func startServer(t *testing.T, h http.HandlerFunc, bodyTimeout time.Duration) (address string, logs *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	server := musttest.Get(httpd.Listen(t.Context(), "127.0.0.1:0", zap.New(core)))(t)
	wanttest.Equal(t, "a body may take", server.BodyTimeout, 30*time.Second)
	if bodyTimeout > 0 {
		server.BodyTimeout = bodyTimeout
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return server.Addr().String(), logs
}

func TestACodeIsNeverLogged(t *testing.T) {
	address, logs := startServer(t, func(http.ResponseWriter, *http.Request) { panic("broken") }, 0)
	code, b := strings.Repeat("A", 26), newBrowser(t)
	for path, want := range map[string]string{httpd.EnterPath + code: "/in/…", httpd.EnterPath + code + "/x": "/in/…", "/api/chats": "/api/chats"} {
		if resp, _ := b.request("GET", "http://"+address+path, nil); resp.status != 500 {
			t.Errorf("answered %d", resp.status)
		}
		all := logs.TakeAll()
		if text := fmt.Sprint(all); strings.Contains(text, code) {
			t.Errorf("the log has the code: %s", text)
		}
		for _, e := range all {
			if e.Message == "request handler panicked" && e.ContextMap()["path"] != want {
				t.Errorf("the path is %v, want %s", e.ContextMap()["path"], want)
			}
		}
	}
}

func TestABodyThatNeverArrivesTimesOut(t *testing.T) {
	read := make(chan error, 1)
	address, _ := startServer(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reads" {
			_, err := io.ReadAll(r.Body)
			read <- err
		}
	}, 50*time.Millisecond)
	for _, path := range []string{"/reads", "/refuses"} {
		conn := musttest.Get(net.Dial("tcp", address))(t)
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nonly a little", path)
		if path == "/reads" {
			select {
			case err := <-read:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("reading it ends with %v", err)
				}
			case <-time.After(5 * time.Minute):
				t.Fatal("the handler still reads")
			}
		}
		// The connection is of no use any more, and ends.
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Minute))
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
