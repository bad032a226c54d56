package discord_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// These tests show what the gateway session of github.com/bwmarrin/discordgo does, and so why
// session.go and socket.go exist. One that fails after an update of the library says that the
// library has learnt something, and that it may be time to use its session.

// librarySession is a session of the library, which is not open yet. Its handler is called with
// each message.
func librarySession(t *testing.T, s *discordtest.Server, handle func(*discordgo.Message)) *discordgo.Session {
	t.Helper()
	d := musttest.Get(discordgo.New("Bot " + s.Token))(t)
	to := musttest.Get(url.Parse(s.URL))(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	d.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		req.URL.Scheme, req.URL.Host, req.Host = to.Scheme, to.Host, to.Host
		return transport.RoundTrip(req)
	})
	d.LogLevel = -1 // nothing
	d.Identify.Intents = discordgo.IntentsDirectMessages | discordgo.IntentMessageContent
	d.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { handle(m.Message) })
	return d
}

// openSession opens a session, which is closed when the test ends.
func openSession(t *testing.T, d *discordgo.Session, s *discordtest.Server) {
	t.Helper()
	musttest.Do(t, d.Open())
	t.Cleanup(func() {
		// Until the first heartbeat is sent, the library takes Close for a broken connection, and
		// connects again for ever.
		for !hasBeat(d) {
			time.Sleep(time.Millisecond)
		}
		_ = d.Close()
	})
	s.AwaitReady(t)
}

// hasBeat reports whether the library has sent a heartbeat over its connection.
func hasBeat(d *discordgo.Session) bool {
	d.RLock()
	defer d.RUnlock()
	return d.DataReady
}

// nextText returns the next text, and fails the test if there is none.
func nextText(t *testing.T, texts <-chan string) string {
	t.Helper()
	select {
	case text := <-texts:
		return text
	case <-time.After(waitLimit):
		t.Fatal("no message is handled")
		return ""
	}
}

// This is why intake keeps a message until it is stored. The library moves the sequence number
// before it calls handlers, and a handler cannot refuse: what it could not store is not told again.
func TestTheLibraryResumesBehindAMessageThatNoHandlerHasStored(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	full, handled := true, make(chan string, 10)
	d := librarySession(t, s, func(m *discordgo.Message) {
		if !full {
			handled <- m.Content
			return
		}
		full = false
		handled <- "not stored: " + m.Content
	})
	d.SyncEvents = true
	openSession(t, d, s)
	dm := s.DM(ada).ID
	s.UserSends(dm, ada, "one")
	if text := nextText(t, handled); text != "not stored: one" {
		t.Fatalf("handled %q", text)
	}
	s.CutConnections()
	s.UserSends(dm, ada, "two")
	wanttest.Equal(t, "handled", nextText(t, handled), "two")
	if stats := s.Stats(); stats.Resumed != 1 {
		t.Errorf("the session was not resumed: %+v", stats)
	}
}

// This is why session.go hands events on one by one. With SyncEvents the library keeps the order,
// and reads nothing, not even the answers to heartbeats, while a handler waits for the disk.
func TestTheLibraryHandlesMessagesOfAChatAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	overtaken, handled := make(chan struct{}), make(chan string, 2)
	d := librarySession(t, s, func(m *discordgo.Message) {
		if m.Content == "first" {
			select {
			case <-overtaken:
			case <-time.After(waitLimit): // messages are handled in order
			}
		}
		handled <- m.Content
		if m.Content == "second" {
			close(overtaken)
		}
	})
	openSession(t, d, s)
	dm := s.DM(ada).ID
	s.UserSends(dm, ada, "first")
	s.UserSends(dm, ada, "second")
	wanttest.EqualSlices(t, "handled", []string{nextText(t, handled), nextText(t, handled)}, []string{"second", "first"})
}

// This is why socket.go closes a connection that it gives up with closeResumable. The library says
// 1000, which ends the session, so that Discord tells nobody what is said until the next one.
func TestTheLibraryEndsItsSessionWhenHeartbeatsAreNotAnswered(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.SetHeartbeatInterval(time.Second)
	s.SetReadTimeout(waitLimit) // the library ends the connection
	s.SetHeartbeatACK(false)
	handled := make(chan string, 10)
	d := librarySession(t, s, func(m *discordgo.Message) { handled <- m.Content })
	d.SyncEvents = true
	var dials sync.WaitGroup // done when the library may connect again
	dialer := &net.Dialer{}
	first := true
	d.Dialer = &websocket.Dialer{NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if !first {
			dials.Wait()
		}
		first = false
		return dialer.DialContext(ctx, network, address)
	}}
	dials.Add(1)
	openSession(t, d, s)
	d.Lock()
	d.LastHeartbeatAck = time.Now().Add(-time.Minute) // which would take five heartbeats
	d.Unlock()
	s.AwaitStats(t, func(now discordtest.Stats) bool { return slices.Contains(now.Closes, websocket.CloseNormalClosure) })
	dm := s.DM(ada).ID
	s.UserSends(dm, ada, "while it connects")
	s.SetHeartbeatACK(true)
	s.SetHeartbeatInterval(time.Minute)
	dials.Done()
	s.AwaitStats(t, func(now discordtest.Stats) bool { return now.Readies == 2 })
	s.UserSends(dm, ada, "after that")
	wanttest.Equal(t, "handled", nextText(t, handled), "after that")
}

// deadlineConn is a connection that knows the deadline of its reads.
type deadlineConn struct {
	net.Conn
	mu       sync.Mutex
	deadline time.Time
}

func (c *deadlineConn) SetDeadline(at time.Time) error {
	c.record(at)
	return c.Conn.SetDeadline(at)
}

func (c *deadlineConn) SetReadDeadline(at time.Time) error {
	c.record(at)
	return c.Conn.SetReadDeadline(at)
}

func (c *deadlineConn) record(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = at
}

// waitsForEver reports whether a read of the connection has no deadline.
func (c *deadlineConn) waitsForEver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline.IsZero()
}

// This is why connect in session.go bounds the handshake and respects a context. The library waits
// for READY without a deadline and holds the lock of the session, so that Close waits, too.
func TestTheLibraryWaitsForEverForAGatewayThatGoesSilent(t *testing.T) {
	s := discordtest.New(t)
	d := librarySession(t, s, func(*discordgo.Message) {})
	conn := &deadlineConn{}
	d.Dialer = &websocket.Dialer{NetDialContext: func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		conn.Conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return conn, err
	}, HandshakeTimeout: time.Minute}
	s.QueueHandshakeFaults(discordtest.HandshakeFault{NoReply: true})
	opened := make(chan error, 1)
	go func() { opened <- d.Open() }()
	s.AwaitStats(t, func(now discordtest.Stats) bool { return now.Identifies == 1 })
	if d.TryLock() {
		d.Unlock()
		t.Error("the library holds no lock")
	}
	if !conn.waitsForEver() {
		t.Error("the library has a deadline")
	}
	s.CutConnections() // nothing else ends it
	if err := <-opened; err == nil {
		t.Error("a session without READY is open")
	}
}

// deadlockEnv is set in the process that is to hang.
const deadlockEnv = "NANOBOT_TEST_DEADLOCK"

// This is why listen in session.go returns when the gateway asks to reconnect, and run connects
// again. The library reconnects where it reads, and waits for the lock that it holds itself.
// Nothing ends that, so it happens in a process of its own.
func TestTheLibraryHangsWhenTheGatewayAsksToReconnectAtOnce(t *testing.T) {
	t.Parallel()
	if os.Getenv(deadlockEnv) == "" {
		program := musttest.Get(os.Executable())(t)
		child := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), deadlockEnv+"=1")
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "the library hangs") {
			t.Errorf("the process says %q (%v)", out, err)
		}
		return
	}
	s := discordtest.New(t)
	d := librarySession(t, s, func(*discordgo.Message) {})
	s.QueueHandshakeFaults(discordtest.HandshakeFault{Reconnect: true})
	go func() { _ = d.Open() }()
	for deadline := time.Now().Add(waitLimit); !waitsForItself(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the library does not hang")
		}
	}
	_, _ = os.Stdout.WriteString("the library hangs\n")
	os.Exit(0)
}

// waitsForItself reports whether Open, which holds the lock of its session, waits for it.
func waitsForItself() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "discordgo.(*Session).Open(") && strings.Contains(stack, "discordgo.(*Session).CloseWithCode(") &&
			strings.Contains(stack, "sync.(*RWMutex).Lock(") {
			return true
		}
	}
	return false
}

// later is the type of a component that the library does not know.
const later = 99

// This is why types.go declares the few fields that we read. For one component in the message that
// is replied to, the library hands on an empty reply, without even its author.
func TestTheLibraryEmptiesAMessageForAComponentThatNobodyReads(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	handled := make(chan string, 2)
	d := librarySession(t, s, func(m *discordgo.Message) { handled <- m.ID + m.Content })
	openSession(t, d, s)
	replyToNewComponent(s)
	wanttest.EqualSlices(t, "handled", []string{nextText(t, handled), nextText(t, handled)}, []string{"", ""})
}

func TestAReplyIsReceivedWithAComponentThatNobodyReads(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	replyToNewComponent(r.server)
	if got := r.WaitForMessages(1)[0]; got.Text != "what is that?" {
		t.Errorf("got %+v", got)
	}
}

// replyToNewComponent makes Ada reply to a message with a component that the library does not know.
func replyToNewComponent(s *discordtest.Server) {
	dm := s.DM(ada).ID
	bot := s.AddUser(discordtest.User{Username: "other", Bot: true})
	to := s.UserPosts(dm, bot.ID, discordtest.Message{Content: "look", Components: []discordtest.Component{{Type: later}}})
	s.UserReplies(dm, ada, to.ID, "what is that?")
}
