// Package toolsocket accepts connections of processes that use the tools of a chat, and decides
// which chat each process acts for. It knows nothing of the tools themselves.
//
// A connection starts with one line of JSON from each side: Hello, with the token of a chat if the
// process has one, and Welcome, with the chat or the reason for a refusal. A process of an agent
// acts only for its own chat: the kernel reports which process has connected, and the supervisor
// which agent it descends from. It needs no token, and must not present another chat's. Any other
// process of the daemon's user, or of root, acts for the chat whose token it has, or for none.
//
// A process that posts one message, instead of using tools, says so in its hello, and sends nothing
// more before the welcome.
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
	// maxConnections limits all connections, maxPerGroup those of each chat, and those of each
	// user's processes before their hello. A connection beyond maxPerGroup is refused, one beyond
	// maxConnections waits to be accepted.
	maxConnections, maxPerGroup = 512, 16
	// helloTimeout is how long a process may take to send its hello.
	helloTimeout = 10 * time.Second
	maxHello     = 16 << 10
	// maxPosts limits the connections of the operator's processes that post a message. They are not
	// counted for a chat, since many may wait for deliveries.
	maxPosts = 128
)

// Hello is the first line of a client.
type Hello struct {
	Token string `json:"token,omitempty"` // of a chat
	Dir   string `json:"dir,omitempty"`   // its working folder
	// AskTool is the name that it wants for the tool ask_user; "": that one.
	AskTool string `json:"ask_tool,omitempty"`
	Post    bool   `json:"post,omitempty"` // it posts one message and uses no tools
}

// Welcome is the first line of the server.
type Welcome struct {
	Chat  string `json:"chat,omitempty"`  // channel:id; "" if the process acts for none
	Error string `json:"error,omitempty"` // reason for the refusal
	Busy  bool   `json:"busy,omitempty"`  // the reason may pass soon
	// Post says that the server expects the message of a process that posts one. Agent says that
	// the process descends from an agent.
	Post  bool `json:"post,omitempty"`
	Agent bool `json:"agent,omitempty"`
}

// Caller is a process that was admitted.
type Caller struct {
	// Owner is the chat that the process acts for, and the agent that it descends from. Either may
	// be missing.
	Owner terminal.Owner
	Dir   string // its working folder, as the process reports it
	// AskTool is the name that it wants for the tool ask_user; "": that one.
	AskTool string
	Post    bool // it posts one message and uses no tools
	// Operator says that no agent has started the process: it is of the daemon's user or of root.
	Operator bool
}

// Refusal is a process that was refused.
type Refusal struct {
	Peer   peersocket.Peer
	Owner  terminal.Owner // as far as known
	Reason string
}

// Options configures a server.
type Options struct {
	// OwnerOf is process.Supervisor.OwnerOf.
	OwnerOf func(pid int) (owner string, descends bool, err error)
	// ChatOfToken is store.Tokens.ChatOfToken.
	ChatOfToken func(ctx context.Context, token string) (channels.Chat, bool, error)
	// Serve serves an admitted process until the connection or ctx ends, and closes the connection.
	Serve func(ctx context.Context, conn io.ReadWriteCloser, c Caller) error
	// ServePost is Serve for a process that posts a message.
	ServePost func(ctx context.Context, conn *net.UnixConn, c Caller) error
	// Refused, if not nil, is called for each refused process.
	Refused func(Refusal)
	Log     *zap.Logger
}

// server is one run of Run.
type server struct {
	Options
	mu     sync.Mutex
	counts map[string]int // connections by group
	// recordLimit limits the refusals that are logged and reported, since anybody on the machine
	// can cause them.
	recordLimit *rate.Limiter
}

// maxRecorded is how many refusals are recorded at once, and then per minute.
const maxRecorded = 60

// Run serves the connections to a socket until ctx ends. It closes the listener, and returns when
// no connection is left.
func Run(ctx context.Context, l *peersocket.Listener, o Options) error {
	s := &server{
		Options: o, counts: map[string]int{},
		recordLimit: rate.NewLimiter(rate.Every(time.Minute/maxRecorded), maxRecorded),
	}
	defer func() { _ = l.Close() }() // Close may be called twice
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	slots := make(chan struct{}, maxConnections)
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
			pauseBriefly(ctx)
			continue
		}
		work.Go(func() {
			defer func() { <-slots }()
			s.serveConn(ctx, conn)
		})
	}
}

// pauseBriefly waits before the next attempt, since there may be no free file descriptors.
func pauseBriefly(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}

// serveConn serves one connection.
func (s *server) serveConn(ctx context.Context, conn *peersocket.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := bufio.NewReaderSize(conn, maxHello)
	caller, leave, refusal := s.admitConn(ctx, conn, in)
	defer leave()
	switch {
	case ctx.Err() != nil || errors.Is(refusal, errNoHello):
		return
	case refusal != nil:
		s.refuseConn(conn, caller, refusal)
		return
	}
	welcome := Welcome{Chat: ownerChat(caller.Owner), Post: caller.Post, Agent: caller.Post && !caller.Operator}
	if writeLine(conn, welcome) != nil || conn.SetDeadline(time.Time{}) != nil {
		return
	}
	var err error
	if caller.Post {
		err = s.ServePost(ctx, conn.UnixConn, caller)
	} else {
		err = s.Serve(ctx, bufferedConn{in, conn.UnixConn}, caller)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Debug("connection of a tool ended", zap.String("chat", ownerChat(caller.Owner)), zap.Error(err))
	}
}

// errNoHello means that the process has exited, or is not a client of this protocol.
var errNoHello = errors.New("the process sent no hello")

// admitConn identifies the process, reads its hello, and counts the connection until leave is
// called. The connection is counted before its hello is read, so that silent connections cannot
// lock out others.
func (s *server) admitConn(ctx context.Context, conn *peersocket.Conn, in *bufio.Reader) (c Caller, leave func(),
	refusal error,
) {
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	p, refusal := s.identify(conn)
	c.Owner, c.Operator = p.owner, p.outside
	if refusal != nil {
		return c, func() {}, refusal
	}
	leave, refusal = s.countConn(p.countGroup(), maxPerGroup)
	if refusal != nil {
		return c, leave, refusal
	}
	hello, err := readHello(in)
	if err != nil {
		return c, leave, errNoHello
	}
	c.Dir, c.AskTool, c.Post = hello.Dir, hello.AskTool, hello.Post
	if c.Owner, refusal = s.ownerByToken(ctx, p, hello.Token); refusal != nil || !p.outside {
		return c, leave, refusal
	}
	leave() // now counted for its chat
	if c.Post {
		leave, refusal = s.countConn("posts", maxPosts)
	} else {
		leave, refusal = s.countConn(ownerChat(c.Owner), maxPerGroup)
	}
	return c, leave, refusal
}

// ownerChat returns the chat of an owner, or "".
func ownerChat(o terminal.Owner) string {
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

// writeLine writes the first line of either side.
func writeLine(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// refuseConn refuses a process.
func (s *server) refuseConn(conn *peersocket.Conn, c Caller, refusal error) {
	reason := refusal.Error()
	defer func() { _ = writeLine(conn, Welcome{Error: reason, Busy: errors.Is(refusal, errTooMany)}) }()
	if !s.recordLimit.Allow() {
		return
	}
	peer, _ := conn.Peer()
	s.Log.Warn("process not allowed to use tools", zap.Int("pid", peer.Pid), zap.Int("uid", peer.UID),
		zap.String("chat", ownerChat(c.Owner)), zap.String("reason", reason))
	if s.Refused != nil {
		s.Refused(Refusal{Peer: peer, Owner: c.Owner, Reason: reason})
	}
}
