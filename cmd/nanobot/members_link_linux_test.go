package main

import (
	"net"
	"sync"
	"testing"

	"nanobot/internal/musttest"
)

// direction is one of the two of a link.
type direction int

const (
	toServer direction = iota
	toClient
	noDirection
)

// memberLink is a member's network to one server. It can be cut, and silent in one direction.
type memberLink struct {
	listener net.Listener
	network  string // of the server
	server   string
	// late delivers what was held back while the link was silent, as retransmissions do. Otherwise
	// these connections are reset.
	late   bool
	source func() net.Addr // the address of the member; nil: any

	mu      sync.Mutex
	changed *sync.Cond
	cut     bool
	silent  direction
	conns   map[*linkConn]bool
}

// linkConn is a connection of a link.
type linkConn struct{ client, server net.Conn }

// reset ends both ends without a close handshake.
func (c *linkConn) reset() {
	for _, end := range []net.Conn{c.client, c.server} {
		if tcp, ok := end.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = end.Close()
	}
}

// startMemberLink starts a link that ends with the test.
func startMemberLink(t *testing.T, network, server string, late bool, source func() net.Addr) *memberLink {
	t.Helper()
	l := &memberLink{
		listener: musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t), network: network, server: server, late: late, source: source,
		silent: noDirection, conns: map[*linkConn]bool{},
	}
	l.changed = sync.NewCond(&l.mu)
	t.Cleanup(func() {
		_ = l.listener.Close()
		l.set(true, noDirection)
	})
	go func() {
		for {
			client, err := l.listener.Accept()
			if err != nil {
				return
			}
			go l.serve(client)
		}
	}()
	return l
}

// connectTo has new connections go to another server.
func (l *memberLink) connectTo(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
}

func (l *memberLink) addr() string { return l.listener.Addr().String() }

// set cuts or heals the link: connections are reset, or one direction is silent.
func (l *memberLink) set(cut bool, silent direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.silent = cut, silent
	if cut {
		for c := range l.conns {
			c.reset()
		}
	}
	l.changed.Broadcast()
}

func (l *memberLink) serve(client net.Conn) {
	d := net.Dialer{}
	if l.source != nil {
		d.LocalAddr = l.source()
	}
	l.mu.Lock()
	address := l.server
	l.mu.Unlock()
	server, err := d.Dial(l.network, address)
	if err != nil {
		(&linkConn{client, client}).reset()
		return
	}
	c := &linkConn{client, server}
	l.mu.Lock()
	l.conns[c] = true
	refused := l.cut
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	}()
	if refused {
		c.reset()
		return
	}
	var work sync.WaitGroup
	work.Go(func() { l.pump(c, server, client, toServer) })
	work.Go(func() { l.pump(c, client, server, toClient) })
	work.Wait()
}

// pump passes on what comes from one end, and its end.
func (l *memberLink) pump(c *linkConn, to, from net.Conn, d direction) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !l.awaitOpen(d) {
			c.reset()
			return
		}
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			_ = c.client.Close()
			_ = c.server.Close()
			return
		}
	}
}

// awaitOpen waits while the direction is silent, and reports whether the bytes still arrive.
func (l *memberLink) awaitOpen(d direction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.silent == d
	for l.silent == d && !l.cut {
		l.changed.Wait()
	}
	return !l.cut && (!held || l.late)
}
