package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web"
	"nanobot/internal/musttest"
)

// pipeListener is a listener in memory, whose connections use the clock of a synctest bubble.
type pipeListener chan net.Conn

func (p pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipeListener) Close() error   { return nil }
func (p pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

// connectInSynctest returns a connection to a channel, in a synctest bubble.
func connectInSynctest(t *testing.T, dir string) (*web.Channel, net.Conn) {
	ch := musttest.Get(web.New(web.Options{
		State: dir, Folder: channelstest.ChatFolders(dir), Requester: func(*http.Request) (string, bool) { return "ann", true },
	}))(t)
	_, h := ch.Mount()
	listener := make(pipeListener, 1)
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Hour}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	here, there := net.Pipe()
	listener <- there
	t.Cleanup(func() {
		here.Close()
		close(listener)
		<-done
		if err := ch.Close(); err != nil {
			t.Error(err)
		}
	})
	return ch, here
}

// TestDrainingARefusedBodyTimesOut promises more than it sends.
func TestDrainingARefusedBodyTimesOut(t *testing.T) {
	for name, body := range map[string]string{
		"read in part": "]", "too big": `{"text": "` + strings.Repeat("x", 7<<20), "nothing of it": "",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				_, conn := connectInSynctest(t, dir)
				began := time.Now()
				go func() {
					_, _ = fmt.Fprintf(conn, "POST /api/chats/web-a-known-to-nobody-else/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body)+1000, body)
				}()
				resp := musttest.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
				defer resp.Body.Close()
				if _, err := io.Copy(io.Discard, conn); resp.StatusCode < 400 || err != nil { // it is cut
					t.Errorf("answered %s, %v", resp.Status, err)
				}
				if took := time.Since(began); took > 2*time.Minute {
					t.Errorf("it was waited for for %s", took)
				}
			})
		})
	}
}

// TestASlowUploadTimesOut sends a byte whenever the stall timeout is about to end.
func TestASlowUploadTimesOut(t *testing.T) {
	for body, most := range map[string]time.Duration{"{": 62 * time.Minute, "]": 2 * time.Minute} { // the second is refused at once
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			_, conn := connectInSynctest(t, dir)
			began := time.Now()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, err := fmt.Fprintf(conn, "POST /api/chats/web-a-known-to-nobody-else/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n%s", body)
			for err == nil && time.Since(began) < 10*time.Hour {
				time.Sleep(20 * time.Second)
				_, err = io.WriteString(conn, " ")
			}
			if took := time.Since(began); took < most/2 || took > most {
				t.Errorf("%s was cut after %s", body, took)
			}
		})
	}
}

// TestAClientThatDoesNotReadIsDisconnected reads 32 KiB at a time, with a pause before each.
func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	for _, c := range []struct {
		name, path string
		pause      time.Duration
		whole      bool
	}{
		{"a file, slowly", "/api/media/", 20 * time.Second, true},
		{"a file, not at all", "/api/media/", time.Minute, false},
		{"messages, slowly", "/api/chats/web-a-known-to-nobody-else/messages", 20 * time.Second, true},
		{"messages, not at all", "/api/chats/web-a-known-to-nobody-else/messages", time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				ch, conn := connectInSynctest(t, dir)
				m := channels.Outgoing{
					Chat: channels.Chat{Channel: web.Name, ID: "web-a-known-to-nobody-else"}, Kind: channels.Answer, Text: strings.Repeat("x", 500_000),
					Media: []channels.File{{Name: "a.txt", Content: strings.Repeat("x", 500_000)}},
				}
				musttest.Get(ch.Send(t.Context(), m))(t)
				if c.path == "/api/media/" {
					files, err := os.ReadDir(filepath.Join(dir, "media"))
					if err != nil || len(files) != 1 {
						t.Fatal(files, err)
					}
					c.path += files[0].Name()
				}
				musttest.Get(fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", c.path))(t)
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatal(resp, err)
				}
				defer resp.Body.Close()
				for err == nil {
					time.Sleep(c.pause)
					_, err = io.CopyN(io.Discard, resp.Body, 32<<10)
				}
				if whole := errors.Is(err, io.EOF); whole != c.whole {
					t.Errorf("in the end it is %v", err)
				}
			})
		})
	}
}
