// Package toolsocket accepts the connections of processes that want to use the tools of a chat, and
// decides by the process which chat that is. It knows nothing of what the tools do.
//
// A connection begins with one line of JSON from each side: Hello, which has the token of a chat if
// the process has one, and Welcome, which names the chat or says why the process is turned away. A
// process of an agent acts for its own chat only: the kernel says which process has connected, and
// the supervisor whose it is. Its token need not be there, and must not be another chat's. Any
// other process of our user, or of root, acts for the chat whose token it has, or for none.
package toolsocket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"nanobot/channels"
	"nanobot/internal/peersocket"
	"nanobot/terminal"
)

const (
	// mostConnections and mostPerGroup bound the connections at the same time: of all, of each
	// chat, and of each user's processes that have not said hello. One more than mostPerGroup is
	// refused, one more than mostConnections waits to be accepted.
	mostConnections, mostPerGroup = 512, 16
	// helloTimeout is how long a process may take to say who it is.
	helloTimeout = 10 * time.Second
	maxHello     = 16 << 10
)

// Hello is the first line of a client.
type Hello struct {
	Token string `json:"token,omitempty"` // of a chat
	Dir   string `json:"dir,omitempty"`   // its working folder
}

// Welcome is the first line of the server.
type Welcome struct {
	Chat  string `json:"chat,omitempty"`  // channel:id; "": the process acts for none
	Error string `json:"error,omitempty"` // why it is turned away
}

// Caller is a process that was let in.
type Caller struct {
	// Owner is the chat that it acts for, and the agent that it belongs to. Without a chat it acts
	// for none, and without an agent it was not started by one.
	Owner terminal.Owner
	Dir   string // its working folder, as it says
}

// Refusal is a process that was turned away.
type Refusal struct {
	Peer   peersocket.Peer
	Owner  terminal.Owner // as far as it is known
	Reason string
}

// Options is what a server needs.
type Options struct {
	// OwnerOf is process.Supervisor.OwnerOf.
	OwnerOf func(pid int) (owner string, descends bool, err error)
	// ChatOfToken is store.Tokens.ChatOfToken.
	ChatOfToken func(ctx context.Context, token string) (channels.Chat, bool, error)
	// Serve serves a process that was let in until the connection or ctx ends, and closes it.
	Serve func(ctx context.Context, conn io.ReadWriteCloser, c Caller) error
	// Refused is told of each process that was turned away; nil: nobody is.
	Refused func(Refusal)
	Log     *zap.Logger
}

// server is one run of Run.
type server struct {
	Options
	mu     sync.Mutex
	counts map[string]int // of connections, by group
	// recorded bounds how many refusals are logged and told: anybody on the machine can cause them.
	recorded *rate.Limiter
}

// mostRecorded is how many refusals are recorded at once, and then a minute.
const mostRecorded = 60

// Run serves the connections to a socket until ctx ends. It closes the listener, and returns when
// no connection is left.
func Run(ctx context.Context, l *peersocket.Listener, o Options) error {
	s := &server{Options: o, counts: map[string]int{}, recorded: rate.NewLimiter(rate.Every(time.Minute/mostRecorded), mostRecorded)}
	defer func() { _ = l.Close() }() // also when the next line is doing so
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	slots := make(chan struct{}, mostConnections)
	var work sync.WaitGroup
	defer work.Wait()
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := l.Accept()
		if err != nil {
			<-slots
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			s.Log.Warn("connection of a tool not accepted, will retry", zap.Error(err))
			pause(ctx)
			continue
		}
		work.Go(func() {
			defer func() { <-slots }()
			s.handle(ctx, conn)
		})
	}
}

// pause waits a little: there may be no file descriptors.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}

// handle serves one connection.
func (s *server) handle(ctx context.Context, conn *peersocket.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := bufio.NewReaderSize(conn, maxHello)
	caller, leave, refusal := s.greet(ctx, conn, in)
	defer leave()
	switch {
	case ctx.Err() != nil || errors.Is(refusal, errSilent):
		return
	case refusal != nil:
		s.refuse(conn, caller, refusal.Error())
		return
	}
	if write(conn, Welcome{Chat: chatOf(caller.Owner)}) != nil || conn.SetDeadline(time.Time{}) != nil {
		return
	}
	err := s.Serve(ctx, bufferedConn{in, conn}, caller)
	if err != nil && ctx.Err() == nil {
		s.Log.Debug("connection of a tool ended", zap.String("chat", chatOf(caller.Owner)), zap.Error(err))
	}
}

// errSilent is a process that is gone, or no client of ours.
var errSilent = errors.New("it says no hello")

// greet tells who has connected, reads the hello and counts the connection until leave is called. A
// connection is counted before its hello is read, so that nobody keeps others out with silent ones.
func (s *server) greet(ctx context.Context, conn *peersocket.Conn, in *bufio.Reader) (c Caller, leave func(), refusal error) {
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	p, refusal := s.identify(conn)
	c.Owner = p.owner
	if refusal != nil {
		return c, func() {}, refusal
	}
	leave, refusal = s.enter(p.group())
	if refusal != nil {
		return c, leave, refusal
	}
	hello, err := readHello(in)
	if err != nil {
		return c, leave, errSilent
	}
	c.Dir = hello.Dir
	if c.Owner, refusal = s.ownerByToken(ctx, p, hello.Token); refusal != nil || !p.outside {
		return c, leave, refusal
	}
	leave() // it is counted for its chat from now on
	leave, refusal = s.enter(chatOf(c.Owner))
	return c, leave, refusal
}

// chatOf names the chat of an owner; "": it has none.
func chatOf(o terminal.Owner) string {
	if o.Channel == "" {
		return ""
	}
	return channels.Chat{Channel: o.Channel, ID: o.ChatID}.String()
}

func readHello(in *bufio.Reader) (h Hello, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(line, &h)
}

func write(w io.Writer, welcome Welcome) error {
	line, err := json.Marshal(welcome)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// bufferedConn is a connection of which something may have been read already.
type bufferedConn struct {
	in *bufio.Reader
	*peersocket.Conn
}

// Read reads what was read already, and then from the connection.
func (c bufferedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// refuse turns a process away.
func (s *server) refuse(conn *peersocket.Conn, c Caller, reason string) {
	defer func() { _ = write(conn, Welcome{Error: reason}) }()
	if !s.recorded.Allow() {
		return
	}
	peer, _ := conn.Peer()
	s.Log.Warn("process refused that wanted to use tools", zap.Int("pid", peer.Pid), zap.Int("uid", peer.UID),
		zap.String("chat", chatOf(c.Owner)), zap.String("reason", reason))
	if s.Refused != nil {
		s.Refused(Refusal{Peer: peer, Owner: c.Owner, Reason: reason})
	}
}
