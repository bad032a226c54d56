package telegram_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The chats of the tests.
const (
	person = int64(42)
	other  = int64(43)
	group  = int64(-77)
	forum  = int64(-1009876543210)
)

// patience is how long a test waits for what must come. Only a test that fails takes so long.
const patience = 5 * time.Minute

// rig is a channel on a fake Telegram.
type rig struct {
	*telegram.Channel
	t      *testing.T
	server *telegramtest.Server
	home   *home
	dir    string
	logs   *observer.ObservedLogs
	inbox  *channelstest.Recorder
}

// home is what outlives a channel.
type home struct {
	dir    string
	memory *channelstest.Memory
}

func newHome(t *testing.T) *home {
	t.Helper()
	return &home{dir: t.TempDir(), memory: channelstest.NewMemory()}
}

// earlier is where an earlier version kept its state.
func (h *home) earlier() string { return filepath.Join(h.dir, "state") }

func newRig(t *testing.T, change ...func(*telegram.Options)) *rig {
	t.Helper()
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada", LastName: "L", Username: "ada"})
	return newRigOn(t, s, newHome(t), change...)
}

// newRigOn is a channel on a server that may have served another.
func newRigOn(t *testing.T, s *telegramtest.Server, h *home, change ...func(*telegram.Options)) *rig {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	network := newRoutes(t)
	o := telegram.Options{
		Token: s.Token, APIBase: s.URL, Log: zap.New(core), Client: &http.Client{Transport: network}, Unpaced: true,
		Folder: channelstest.ChatFolders(h.dir, "media"),
		// Parts that come with one poll are one album however short this is; see endless for parts
		// that come one by one.
		Timing: telegram.Timing{Quiet: 200 * time.Millisecond}, LegacyState: h.earlier(),
	}
	for _, f := range change {
		f(&o)
	}
	ch, err := telegram.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ch.SetMemory(h.memory)
	t.Cleanup(func() {
		if strings.Contains(channelstest.LogText(t, logs), s.Token) {
			t.Error("the token is in the log")
		}
	})
	return &rig{Channel: ch, t: t, server: s, home: h, dir: h.dir, logs: logs, inbox: channelstest.NewRecorder()}
}

// run starts the channel. It stops, and must do so without an error, when stop is called or the
// test ends.
func (r *rig) run() (stop func()) {
	return channelstest.Start(r.t, r.Channel, r.home.memory.WrapReceive(r.inbox.Receive))
}

// runRefused is run with a store that refuses messages, both whole and as parts.
func (r *rig) runRefused(refuse channels.Receive) (stop func()) {
	return channelstest.Start(r.t, r.Channel, refusedBy(refuse, r.home.memory.WrapReceive(r.inbox.Receive)))
}

// refusedBy is a store that refuses messages, both whole and as parts.
func refusedBy(refuse, receive channels.Receive) channels.Receive {
	return func(ctx context.Context, in channels.Incoming) error {
		if err := refuse(ctx, in); err != nil {
			return err
		}
		return receive(ctx, in)
	}
}

// logged is the log as text.
func (r *rig) logged() string { return channelstest.LogText(r.t, r.logs) }

// complained waits until it is logged that a message is not received.
func (r *rig) complained() {
	r.t.Helper()
	for deadline := time.Now().Add(patience); r.logs.FilterMessage("message not received, will retry").Len() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("nothing went wrong: %s", r.logged())
		}
	}
}

// wait returns what was received once there are n messages, and fails the test if there are not.
func (r *rig) wait(n int) []channels.Incoming {
	r.t.Helper()
	got, ok := r.inbox.Await(func(all []channels.Incoming) bool { return len(all) >= n })
	if !ok {
		r.t.Fatalf("%d messages were received and should be %d: %+v\n%s", len(got), n, got, r.logged())
	}
	return got
}

// settled returns what was received once all that was said so far was handled.
func (r *rig) settled() []channels.Incoming {
	r.t.Helper()
	last := int64(r.server.InjectUpdate(`{"poll":{}}`)) // which nobody hears
	r.confirmed(last)
	r.emptied()
	return r.inbox.Messages()
}

// confirmed waits until Telegram was told that we have an update.
func (r *rig) confirmed(id int64) {
	r.t.Helper()
	r.until("getUpdates", func(c []telegramtest.Call) bool { return len(c) > 0 && c[len(c)-1].IntParam("offset") > id })
}

// emptied waits until all that came is received.
func (r *rig) emptied() {
	r.t.Helper()
	for deadline := time.Now().Add(patience); len(r.home.memory.StoredParts()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("pending are %v\n%s", r.home.memory.StoredParts(), r.logged())
		}
	}
}

// only returns the one message that was received of all that was said so far.
func (r *rig) only() channels.Incoming {
	r.t.Helper()
	all := r.settled()
	if len(all) != 1 {
		r.t.Fatalf("one message should be received and are %+v", all)
	}
	return all[0]
}

// none fails the test if anything said so far is received.
func (r *rig) none() {
	r.t.Helper()
	if all := r.settled(); len(all) != 0 {
		r.t.Fatalf("nothing should be received and is %+v", all)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func chatOf(id string) channels.Chat { return channels.Chat{Channel: telegram.Name, ID: id} }

// tell plans and sends an answer to the person, and returns the receipts.
func (r *rig) tell(m channels.Message) []channels.Receipt {
	r.t.Helper()
	if m.Chat.ID == "" {
		m.Chat = chatOf("42")
	}
	if m.Kind == "" {
		m.Kind = channels.Answer
	}
	return channelstest.MustSend(r.t, r.Channel, m)
}

func (r *rig) plan(m channels.Message) []channels.Outgoing {
	r.t.Helper()
	return channelstest.MustPlan(r.t, r.Channel, m)
}

// hello is a planned text to the person.
func (r *rig) hello(text string) channels.Outgoing {
	r.t.Helper()
	return r.plan(channels.Message{Chat: chatOf("42"), Kind: channels.Answer, Text: text})[0]
}

// file writes a file and names it as an agent would.
func (r *rig) file(name string, content []byte) channels.File {
	r.t.Helper()
	return channelstest.WriteFile(r.t, name, content)
}

// sendError is the error of a send that must fail. The token must not be in it.
func (r *rig) sendError(ctx context.Context, o channels.Outgoing) *channels.SendError {
	r.t.Helper()
	return channelstest.MustFailSend(ctx, r.t, r.Channel, o, r.server.Token)
}

// until waits for the calls of a method to satisfy a condition.
func (r *rig) until(method string, enough func([]telegramtest.Call) bool) []telegramtest.Call {
	r.t.Helper()
	calls, ok := r.server.AwaitCalls(method, patience, enough)
	if !ok {
		r.t.Fatalf("the calls of %s are %+v\n%s", method, calls, r.logged())
	}
	return calls
}
