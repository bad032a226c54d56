package discord_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The people of the tests.
const (
	ada = "4200000000000000042"
	bob = "4300000000000000043"
)

// patience is how long a test waits for what must come.
const patience = 5 * time.Minute

// rig is a channel on a fake Discord.
type rig struct {
	*discord.Channel
	t      *testing.T
	server *discordtest.Server
	dm     string // Ada's conversation with the bot
	dir    string
	logs   *observer.ObservedLogs
	inbox  *channelstest.Recorder
	memory *memory
}

// memory is what the channel remembers.
type memory struct {
	sync.Mutex
	values map[string]string
	fail   func(value string) error // nil: everything is saved
}

func (m *memory) Load(_ context.Context, key string) (string, error) {
	m.Lock()
	defer m.Unlock()
	return m.values[key], nil
}

func (m *memory) Save(_ context.Context, key, value string) error {
	m.Lock()
	defer m.Unlock()
	if m.fail != nil {
		if err := m.fail(value); err != nil {
			return err
		}
	}
	m.values[key] = value
	return nil
}

func (m *memory) Parts(context.Context) ([]channels.Incoming, error) { return nil, nil }

func (m *memory) Known(context.Context, channels.Chat, string) (bool, error) { return false, nil }

func (m *memory) DropParts(context.Context, channels.Chat, string) error { return nil }

func newRig(t *testing.T, change ...func(*discord.Options)) *rig {
	t.Helper()
	s := discordtest.New(t)
	s.AddUser(discordtest.User{ID: ada, Username: "ada", GlobalName: "Ada L"})
	return newRigOn(t, s, t.TempDir(), change...)
}

// again is another channel on the same server, as after a restart, without a cursor.
func (r *rig) again(change ...func(*discord.Options)) *rig {
	r.t.Helper()
	next := newRigOn(r.t, r.server, r.dir, change...)
	next.memory = r.memory
	next.SetMemory(r.memory)
	return next
}

// newRigOn is a channel on a server that may have served another.
func newRigOn(t *testing.T, s *discordtest.Server, dir string, change ...func(*discord.Options)) *rig {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	transport := &http.Transport{}
	o := discord.Options{
		Token: s.Token, APIBase: s.URL, Log: zap.New(core), Client: &http.Client{Transport: transport}, Unpaced: true,
		Folder: channelstest.ChatFolders(dir, "media"),
		Timing: discord.Timing{Identify: 20 * time.Millisecond, Pause: 10 * time.Millisecond}, People: []string{ada},
	}
	for _, f := range change {
		f(&o)
	}
	o.Client.Transport = libraryOnly{t, o.Client.Transport}
	ch, err := discord.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if strings.Contains(channelstest.LogText(t, logs), s.Token) {
			t.Error("the token is in the log")
		}
	})
	m := &memory{values: map[string]string{}}
	ch.SetMemory(m)
	return &rig{Channel: ch, t: t, server: s, dm: s.DM(ada).ID, dir: dir, logs: logs, inbox: channelstest.NewRecorder(), memory: m}
}

// run starts the channel. It stops, and must do so without an error, when stop is called or the
// test ends.
func (r *rig) run() (stop func()) { return channelstest.Start(r.t, r.Channel, r.inbox.Receive) }

// logged is the log as text.
func (r *rig) logged() string { return channelstest.LogText(r.t, r.logs) }

// connected is run, once the gateway has let us in.
func (r *rig) connected() (stop func()) {
	r.t.Helper()
	stop = r.run()
	r.server.AwaitReady(r.t)
	return stop
}

// sessions waits until the gateway has begun n sessions.
func (r *rig) sessions(n int) {
	r.t.Helper()
	r.server.AwaitStats(r.t, func(s discordtest.Stats) bool { return s.Readies >= n })
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

// settled returns what was received once all that was said so far was handled, and in Ada's
// conversation and the given chats also received. The first mark is found by nobody before it is
// told, behind all other events.
func (r *rig) settled(chats ...string) []channels.Incoming {
	r.t.Helper()
	r.server.AwaitReady(r.t)
	const marker = "4900000000000000049"
	marks := map[string]bool{}
	mark := func(chat, user string) {
		id := r.server.UserSends(chat, user, "<@"+r.server.Bot.ID+"> that is all").ID
		r.received(id)
		marks[id] = true
	}
	mark(r.server.DM(marker).ID, marker)
	for _, chat := range append(chats, r.dm) {
		mark(chat, ada)
	}
	return slices.DeleteFunc(r.inbox.Messages(), func(in channels.Incoming) bool { return marks[in.ID] })
}

// received waits until a message was received.
func (r *rig) received(id string) {
	r.t.Helper()
	all, ok := r.inbox.Await(func(all []channels.Incoming) bool {
		return slices.ContainsFunc(all, func(in channels.Incoming) bool { return in.ID == id })
	})
	if !ok {
		r.t.Fatalf("the last message was not received: %+v\n%s", all, r.logged())
	}
}

// only returns the one message that was received of all that was said so far.
func (r *rig) only(chats ...string) channels.Incoming {
	r.t.Helper()
	all := r.settled(chats...)
	if len(all) != 1 {
		r.t.Fatalf("one message should be received and are %+v", all)
	}
	return all[0]
}

func texts(all []channels.Incoming) []string {
	var out []string
	for _, in := range all {
		out = append(out, in.Text)
	}
	return out
}

func chatOf(id string) channels.Chat { return channels.Chat{Channel: discord.Name, ID: id} }

// tell plans and sends an answer to Ada, and returns the receipts.
func (r *rig) tell(m channels.Message) []channels.Receipt {
	r.t.Helper()
	if m.Chat.ID == "" {
		m.Chat = chatOf(r.dm)
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

// hello is a planned text to Ada.
func (r *rig) hello(text string) channels.Outgoing {
	r.t.Helper()
	return r.plan(channels.Message{Chat: chatOf(r.dm), Kind: channels.Answer, Text: text})[0]
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

// until waits for the calls of a route to satisfy a condition.
func (r *rig) until(route string, enough func([]discordtest.Call) bool) []discordtest.Call {
	r.t.Helper()
	calls, ok := r.server.AwaitCalls(route, patience, enough)
	if !ok {
		r.t.Fatalf("the calls of %s are %+v\n%s", route, calls, r.logged())
	}
	return calls
}

// untilLogged waits until the log says something.
func (r *rig) untilLogged(what string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); r.logs.FilterMessage(what).Len() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("the log does not say %q: %s", what, r.logged())
		}
	}
}
