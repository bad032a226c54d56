package telegram_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The chats of the tests.
const (
	person = int64(42)
	other  = int64(43)
	group  = int64(-77)
	forum  = int64(-1009876543210)
)

// waitLimit bounds the waits of the tests. Only a test that fails waits for so long.
const waitLimit = 5 * time.Minute

// testChannel is a channel on a test server.
type testChannel struct {
	*telegram.Channel
	*channelstest.Driver
	t      *testing.T
	server *telegramtest.Server
	state  *botState
	dir    string
}

// botState is the state of a bot, which outlives a channel.
type botState struct {
	dir    string
	memory *channelstest.Memory
}

func newBotState(t *testing.T) *botState {
	t.Helper()
	return &botState{dir: t.TempDir(), memory: channelstest.NewMemory()}
}

// legacyDir returns the folder with the state of an earlier version.
func (h *botState) legacyDir() string { return filepath.Join(h.dir, "state") }

func newTestChannel(t *testing.T, change ...func(*telegram.Options)) *testChannel {
	t.Helper()
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada", LastName: "L", Username: "ada"})
	return newTestChannelOn(t, s, newBotState(t), change...)
}

// newTestChannelOn returns a channel on a server that may have served another channel.
func newTestChannelOn(t *testing.T, s *telegramtest.Server, h *botState, change ...func(*telegram.Options)) *testChannel {
	t.Helper()
	driver, log := channelstest.NewDriver(t)
	network := newRoutes(t)
	o := telegram.Options{
		Token: s.Token, APIBase: s.URL, Log: log, Client: &http.Client{Transport: network, Timeout: waitLimit}, Unpaced: true,
		Folder: channelstest.ChatFolders(h.dir, "media"),
		// The parts of one poll are one album, however short this time is. waitForFullAlbum is for
		// parts that arrive separately. waitForComment is for texts that wait.
		Timing: telegram.Timing{Quiet: 200 * time.Millisecond, Comment: -1, Follow: waitLimit}, LegacyState: h.legacyDir(),
	}
	for _, f := range change {
		f(&o)
	}
	ch := musttest.Get(telegram.New(o))(t)
	ch.SetMemory(h.memory)
	driver.Drive(ch, chatOf("42"), o.Token)
	return &testChannel{Channel: ch, Driver: driver, t: t, server: s, state: h, dir: h.dir}
}

// start runs the channel until stop is called or the test ends. Run must not return an error.
func (r *testChannel) start() (stop func()) {
	return channelstest.Start(r.t, r.Channel, r.state.memory.WrapReceive(r.Recorder.Receive))
}

// startRefusing is start with a store that refuses messages, both whole ones and parts.
func (r *testChannel) startRefusing(refuse channels.Receive) (stop func()) {
	return channelstest.Start(r.t, r.Channel, refusingReceive(refuse, r.state.memory.WrapReceive(r.Recorder.Receive)))
}

// refusingReceive returns a Receive that refuses messages, both whole ones and parts.
func refusingReceive(refuse, receive channels.Receive) channels.Receive {
	return func(ctx context.Context, in channels.Incoming) error {
		if err := refuse(ctx, in); err != nil {
			return err
		}
		return receive(ctx, in)
	}
}

// receivedSoFar returns the received messages after all updates so far are handled.
func (r *testChannel) receivedSoFar() []channels.Incoming {
	r.t.Helper()
	last := int64(r.server.InjectUpdate(`{"poll":{}}`)) // an update that is not for the bot
	r.waitForConfirmation(last)
	r.waitForNoParts()
	return r.Recorder.Messages()
}

// waitForConfirmation waits until the channel has confirmed an update.
func (r *testChannel) waitForConfirmation(id int64) {
	r.t.Helper()
	r.server.WaitForCalls(r.t, "getUpdates", func(c []telegramtest.Call) bool { return len(c) > 0 && c[len(c)-1].IntParam("offset") > id })
}

// waitForNoParts waits until no part is stored.
func (r *testChannel) waitForNoParts() {
	r.t.Helper()
	for deadline := time.Now().Add(waitLimit); len(r.state.memory.StoredParts()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("pending are %v\n%s", r.state.memory.StoredParts(), r.LogText())
		}
	}
}

// onlyMessage returns the message of all updates so far, and fails the test unless there is exactly
// one.
func (r *testChannel) onlyMessage() channels.Incoming {
	r.t.Helper()
	all := r.receivedSoFar()
	if len(all) != 1 {
		r.t.Fatalf("one message should be received and are %+v", all)
	}
	return all[0]
}

// expectNoMessage fails the test if a message of the updates so far is received.
func (r *testChannel) expectNoMessage() {
	r.t.Helper()
	if all := r.receivedSoFar(); len(all) != 0 {
		r.t.Fatalf("nothing should be received and is %+v", all)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func chatOf(id string) channels.Chat { return channels.Chat{Channel: telegram.Name, ID: id} }
