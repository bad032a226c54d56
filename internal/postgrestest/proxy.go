package postgrestest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Fate is what becomes of a request, which is the messages up to the next Sync.
type Fate int

// The fates of a request.
const (
	Pass      Fate = iota
	CutBefore      // the connection is cut before the server gets the request
	CutBehind      // the server carries the request out, then the connection is cut
	Late           // the connection is cut, and the server gets the request when Deliver is called
	Silent         // nothing passes until Deliver is called, as when a network loses all packets
)

// cancelRequest is the protocol version in a request to cancel the statement of a connection.
const cancelRequest = 80877102

// Proxy passes connections on to a server. Requests to cancel a statement get lost.
type Proxy struct {
	server   string
	listener net.Listener
	deliver  chan struct{}
	once     sync.Once
	late     sync.WaitGroup
	pooler   atomic.Bool

	mu       sync.Mutex
	decide   func(request []byte) Fate
	requests int
	open     int
	most     int
}

// NewProxy returns a proxy in front of the server that URL returns. It ends with the test.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	URL(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		server: shared.server.Socket(), listener: l, deliver: make(chan struct{}),
		decide: func([]byte) Fate { return Pass },
	}
	t.Cleanup(func() {
		p.Deliver()
		_ = l.Close()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// URL returns the URL of the server through the proxy.
func (p *Proxy) URL() string {
	u := url.URL{Scheme: "postgres", User: url.User("nanobot"), Host: p.listener.Addr().String(), Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// Decide has a function decide about the requests from now on, also about several at a time.
func (p *Proxy) Decide(decide func(request []byte) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decide = decide
}

// ActAsPooler drops the settings of new connections, as a connection pooler does that shares
// connections.
func (p *Proxy) ActAsPooler() { p.pooler.Store(true) }

// dropSettings removes all parameters except the user and the database from a startup message.
func dropSettings(startup []byte) []byte {
	kept := bytes.Clone(startup[:8])
	for fields := bytes.Split(startup[8:], []byte{0}); len(fields) > 1 && len(fields[0]) > 0; fields = fields[2:] {
		if key := string(fields[0]); key == "user" || key == "database" {
			kept = fmt.Appendf(kept, "%s\x00%s\x00", key, fields[1])
		}
	}
	kept = append(kept, 0)
	binary.BigEndian.PutUint32(kept, uint32(len(kept))) //nolint:gosec // a startup message is short
	return kept
}

// Counts returns how many requests were made since the last call, and how many connections were at
// most open at the same time since then.
func (p *Proxy) Counts() (requests, connections int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests, connections = p.requests, p.most
	p.requests, p.most = 0, p.open
	return requests, connections
}

// Deliver passes the late requests on, from now on at once, and returns when the server has
// answered those that were waiting.
func (p *Proxy) Deliver() {
	p.once.Do(func() { close(p.deliver) })
	p.mu.Lock()   // a request that has come before is counted
	p.mu.Unlock() //nolint:staticcheck // it only orders the two
	p.late.Wait()
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	startup, err := readMessage(client, 0)
	if err != nil {
		return
	}
	if binary.BigEndian.Uint32(startup[4:]) == cancelRequest {
		return
	}
	if p.pooler.Load() {
		startup = dropSettings(startup)
	}
	if _, err := server.Write(startup); err != nil {
		return
	}
	p.countOpen(1)
	defer p.countOpen(-1)
	var fate atomic.Int32 // of the request that is on its way
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		passAnswers(server, client, &fate)
	}()
	p.passRequests(client, server, &fate, ended)
	_ = server.Close()
	<-ended
}

// passRequests passes requests on until one of the connections is cut.
func (p *Proxy) passRequests(client, server net.Conn, to *atomic.Int32, ended <-chan struct{}) {
	var request []byte
	for {
		m, err := readMessage(client, 1)
		if err != nil || m[0] == 'X' { // Terminate
			return
		}
		request = append(request, m...)
		if m[0] != 'S' && m[0] != 'Q' {
			continue
		}
		fate := p.fateOf(request)
		to.Store(int32(fate))
		if fate == CutBefore {
			return
		}
		if fate == Silent {
			<-p.deliver
			return
		}
		if fate == Late {
			defer p.late.Done()
			_ = client.Close()
			<-p.deliver
		}
		if _, err := server.Write(request); err != nil {
			return
		}
		if fate == Late {
			<-ended
			return
		}
		request = nil
	}
}

func (p *Proxy) fateOf(request []byte) Fate {
	p.mu.Lock()
	p.requests++
	decide := p.decide
	p.mu.Unlock()
	fate := decide(request)
	if fate == Late {
		p.mu.Lock()
		p.late.Add(1)
		p.mu.Unlock()
	}
	return fate
}

// passAnswers passes what the server sends on until one of the connections is cut.
func passAnswers(server, client net.Conn, fate *atomic.Int32) {
	defer client.Close()
	for {
		m, err := readMessage(server, 1)
		if err != nil {
			return
		}
		if Fate(fate.Load()) == Pass {
			if _, err := client.Write(m); err != nil {
				return
			}
		} else if m[0] == 'Z' { // ReadyForQuery
			return
		}
	}
}

func (p *Proxy) countOpen(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += by
	p.most = max(p.most, p.open)
}

// readMessage reads a message whose length follows its type, which has typed bytes.
func readMessage(r io.Reader, typed int) ([]byte, error) {
	head := make([]byte, typed+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	m := make([]byte, typed+int(binary.BigEndian.Uint32(head[typed:])))
	copy(m, head)
	_, err := io.ReadFull(r, m[len(head):])
	return m, err
}
