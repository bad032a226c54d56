package discord_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The people of the tests.
const (
	ada = "4200000000000000042"
	bob = "4300000000000000043"
)

// waitLimit bounds the waits of the tests.
const waitLimit = 5 * time.Minute

// testChannel is a channel on a test server.
type testChannel struct {
	*discord.Channel
	*channelstest.Driver
	t      *testing.T
	server *discordtest.Server
	dm     string // Ada's DM channel
	dir    string
	memory *fakeMemory
}

// fakeMemory implements channels.Memory for a channel under test.
type fakeMemory struct {
	sync.Mutex
	values map[string]string
	fail   func(value string) error // if nil, everything is saved
	known  map[string]bool          // the messages that were received, as chat and ID
}

func (m *fakeMemory) Load(_ context.Context, key string) (string, error) {
	m.Lock()
	defer m.Unlock()
	return m.values[key], nil
}

func (m *fakeMemory) Save(_ context.Context, key, value string) error {
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

func (m *fakeMemory) Parts(context.Context) ([]channels.Incoming, error) { return nil, nil }

func (m *fakeMemory) Idle(channels.Chat) bool { return true }

func (m *fakeMemory) Known(_ context.Context, chat channels.Chat, id string) (bool, error) {
	m.Lock()
	defer m.Unlock()
	return m.known[chat.ID+" "+id], nil
}

// addReceived makes the messages that the channel has received so far known.
func (m *fakeMemory) addReceived(all []channels.Incoming) {
	m.Lock()
	defer m.Unlock()
	for _, in := range all {
		m.known[in.Chat.ID+" "+in.ID] = true
	}
}

func (m *fakeMemory) DropParts(context.Context, channels.Chat, string) error { return nil }

func newTestChannel(t *testing.T, change ...func(*discord.Options)) *testChannel {
	t.Helper()
	s := discordtest.New(t)
	s.AddUser(discordtest.User{ID: ada, Username: "ada", GlobalName: "Ada L"})
	return newTestChannelOn(t, s, t.TempDir(), change...)
}

// restartWithoutCursor returns another channel on the same server, as after a restart, without a
// cursor.
func (r *testChannel) restartWithoutCursor(change ...func(*discord.Options)) *testChannel {
	r.t.Helper()
	next := newTestChannelOn(r.t, r.server, r.dir, change...)
	next.memory = r.memory
	next.SetMemory(r.memory)
	return next
}

// newTestChannelOn returns a channel on a server that may have served another channel.
func newTestChannelOn(t *testing.T, s *discordtest.Server, dir string, change ...func(*discord.Options)) *testChannel {
	t.Helper()
	driver, log := channelstest.NewDriver(t)
	transport := &http.Transport{}
	o := discord.Options{
		Token: s.Token, APIBase: s.URL, Log: log, Client: &http.Client{Transport: transport, Timeout: waitLimit}, Unpaced: true,
		Folder: channelstest.ChatFolders(dir, "media"),
		Timing: discord.Timing{Identify: 20 * time.Millisecond, Pause: 10 * time.Millisecond, Response: waitLimit},
		People: []string{ada},
	}
	for _, f := range change {
		f(&o)
	}
	o.Client.Transport = libraryOnly{t, o.Client.Transport}
	ch := musttest.Get(discord.New(o))(t)
	t.Cleanup(transport.CloseIdleConnections)
	dm := s.DM(ada).ID
	driver.Drive(ch, chatOf(dm), o.Token)
	m := &fakeMemory{values: map[string]string{}, known: map[string]bool{}}
	ch.SetMemory(m)
	return &testChannel{Channel: ch, Driver: driver, t: t, server: s, dm: dm, dir: dir, memory: m}
}

// start runs the channel until stop is called or the test ends. Run must not return an error.
func (r *testChannel) start() (stop func()) {
	return channelstest.Start(r.t, r.Channel, r.Recorder.Receive)
}

// startConnected starts the channel and waits until it is connected to the gateway.
func (r *testChannel) startConnected() (stop func()) {
	r.t.Helper()
	stop = r.start()
	r.server.AwaitReady(r.t)
	return stop
}

// waitForSessions waits until the gateway has started n sessions.
func (r *testChannel) waitForSessions(n int) {
	r.t.Helper()
	r.server.AwaitStats(r.t, func(s discordtest.Stats) bool { return s.Readies >= n })
}

// receivedSoFar returns the received messages after all events so far are handled. It sends a
// marker message in a new DM, in Ada's DM and in the given chats, and waits for each. A search of
// the history cannot find the first marker, because its DM is unknown before its event, which comes
// after all others.
func (r *testChannel) receivedSoFar(chats ...string) []channels.Incoming {
	r.t.Helper()
	r.server.AwaitReady(r.t)
	const marker = "4900000000000000049"
	marks := map[string]bool{}
	mark := func(chat, user string) {
		id := r.server.UserSends(chat, user, "<@"+r.server.Bot.ID+"> that is all").ID
		r.waitForMessage(id)
		marks[id] = true
	}
	mark(r.server.DM(marker).ID, marker)
	for _, chat := range append(chats, r.dm) {
		mark(chat, ada)
	}
	return slices.DeleteFunc(r.Recorder.Messages(), func(in channels.Incoming) bool { return marks[in.ID] })
}

// waitForMessage waits until the message with this ID is received.
func (r *testChannel) waitForMessage(id string) {
	r.t.Helper()
	all, ok := r.Recorder.Await(func(all []channels.Incoming) bool {
		return slices.ContainsFunc(all, func(in channels.Incoming) bool { return in.ID == id })
	})
	if !ok {
		r.t.Fatalf("the last message was not received: %+v\n%s", all, r.LogText())
	}
}

// onlyMessage returns the message of all events so far, and fails the test unless there is exactly
// one.
func (r *testChannel) onlyMessage(chats ...string) channels.Incoming {
	r.t.Helper()
	all := r.receivedSoFar(chats...)
	if len(all) != 1 {
		r.t.Fatalf("one message should be received and are %+v", all)
	}
	return all[0]
}

func textsOf(all []channels.Incoming) []string {
	var out []string
	for _, in := range all {
		out = append(out, in.Text)
	}
	return out
}

func chatOf(id string) channels.Chat { return channels.Chat{Channel: discord.Name, ID: id} }
