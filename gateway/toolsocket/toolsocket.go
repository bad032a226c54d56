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
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/internal/peersocket"
	"nanobot/terminal"
)

const (
	// mostConnections and mostPerChat bound the connections at the same time. One more than
	// mostPerChat is refused, one more than mostConnections waits to be accepted.
	mostConnections, mostPerChat = 512, 64
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
	mu      sync.Mutex
	perChat map[string]int
}

// Run serves the connections to a socket until ctx ends. It closes the listener, and returns when
// no connection is left.
func Run(ctx context.Context, l *peersocket.Listener, o Options) error {
	s := &server{Options: o, perChat: map[string]int{}}
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
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	in := bufio.NewReaderSize(conn, maxHello)
	hello, err := readHello(in)
	if err != nil {
		return // it is gone, or no client of ours
	}
	caller, refusal := s.identify(ctx, conn, hello)
	if refusal == "" && !s.enter(caller) {
		refusal = fmt.Sprintf("this chat has %d connections already; close some", mostPerChat)
	} else if refusal == "" {
		defer s.leave(caller)
	}
	if ctx.Err() != nil {
		return
	}
	if refusal != "" {
		s.refuse(conn, caller, refusal)
		return
	}
	if write(conn, Welcome{Chat: chatOf(caller.Owner)}) != nil || conn.SetDeadline(time.Time{}) != nil {
		return
	}
	err = s.Serve(ctx, bufferedConn{in, conn}, caller)
	if err != nil && ctx.Err() == nil {
		s.Log.Debug("connection of a tool ended", zap.String("chat", chatOf(caller.Owner)), zap.Error(err))
	}
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
	peer, _ := conn.Peer()
	s.Log.Warn("process refused that wanted to use tools", zap.Int("pid", peer.Pid), zap.Int("uid", peer.UID),
		zap.String("chat", chatOf(c.Owner)), zap.String("reason", reason))
	if s.Refused != nil {
		s.Refused(Refusal{Peer: peer, Owner: c.Owner, Reason: reason})
	}
	_ = write(conn, Welcome{Error: reason})
}

// identify returns for whom a process acts, or why it is refused. The caller then has what is known
// of it.
func (s *server) identify(ctx context.Context, conn *peersocket.Conn, h Hello) (c Caller, refusal string) {
	c.Dir = h.Dir
	peer, err := conn.Peer()
	if err != nil {
		return c, "the daemon cannot tell which process this is"
	}
	owner, outside := s.ownerOf(peer)
	if !conn.PeerLives() { // and the owner may be that of another process with its pid
		return c, "the process that connected is gone"
	}
	if !outside {
		return s.identifyAgent(ctx, c, owner, h.Token)
	}
	if peer.UID != os.Geteuid() && peer.UID != 0 {
		return c, fmt.Sprintf("this process is of another user (%d) and was not started by an agent of the bot", peer.UID)
	}
	return s.identifyOther(ctx, c, h.Token)
}

// ownerOf returns whose a process is; "": that cannot be told. outside says that no agent has
// started it.
func (s *server) ownerOf(peer peersocket.Peer) (owner string, outside bool) {
	if peer.Pid == 0 { // our descendants are in our PID namespace, or in one within
		return "", true
	}
	owner, descends, err := s.OwnerOf(peer.Pid)
	if err != nil && peer.UID == 0 && os.Geteuid() != 0 { // the kernel may hide the processes of root from us
		return "", true
	}
	return owner, err == nil && !descends
}

// identifyAgent is identify for a process of ours.
func (s *server) identifyAgent(ctx context.Context, c Caller, owner, token string) (_ Caller, refusal string) {
	o, ok := terminal.ParseOwner(owner)
	if !ok {
		return c, "the daemon cannot tell which chat this process works for; start nanobot mcp as a child of the agent"
	}
	c.Owner = o
	if token == "" {
		return c, ""
	}
	chat, known, err := s.ChatOfToken(ctx, token)
	switch {
	case err != nil:
		return c, s.unreadable(err)
	case !known, chat.Channel != o.Channel, chat.ID != o.ChatID:
		return c, "the token in $NANOBOT_CHAT_TOKEN is not that of the chat which this process works for"
	}
	return c, ""
}

// identifyOther is identify for a process that no agent has started.
func (s *server) identifyOther(ctx context.Context, c Caller, token string) (_ Caller, refusal string) {
	if token == "" {
		return c, ""
	}
	chat, known, err := s.ChatOfToken(ctx, token)
	switch {
	case err != nil:
		return c, s.unreadable(err)
	case !known:
		return c, "the token in $NANOBOT_CHAT_TOKEN is no chat's"
	}
	c.Owner = terminal.Owner{Channel: chat.Channel, ChatID: chat.ID}
	return c, ""
}

func (s *server) unreadable(err error) string {
	s.Log.Error("cannot look up the token of a chat", zap.Error(err))
	return "the daemon cannot read its state at the moment; try again"
}

// enter counts a connection of a chat, unless there are too many.
func (s *server) enter(c Caller) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	chat := chatOf(c.Owner)
	if s.perChat[chat] >= mostPerChat {
		return false
	}
	s.perChat[chat]++
	return true
}

func (s *server) leave(c Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	chat := chatOf(c.Owner)
	if s.perChat[chat]--; s.perChat[chat] == 0 {
		delete(s.perChat, chat)
	}
}
