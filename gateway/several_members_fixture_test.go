package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/beat"
	"nanobot/gateway/console"
	"nanobot/gateway/events"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/postgres/bottest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// sharedBot is a bot whose members share a network, a workspace and a PostgreSQL schema.
type sharedBot struct {
	t        *testing.T
	net      *gatewaytest.Network
	dir      string
	url, bot string
	terminal config.Terminal
	settings gateway.Settings
	// protocol makes the protocol of a member; nil: rich.
	protocol func(*sharedBot) terminal.Protocol
	// others are agents beside the default agent.
	others map[string]config.Terminal
}

func newSharedBot(t *testing.T, script string) *sharedBot {
	t.Helper()
	b := &sharedBot{
		t: t, net: gatewaytest.NewNetwork(), dir: t.TempDir(), url: postgrestest.URL(t),
		bot: bottest.Lend(t), terminal: config.Default().Terminal,
	}
	b.terminal.Command, b.terminal.Protocol, b.terminal.Interactive = script, "rich", true
	b.settings = gateway.Settings{
		WhileRunning: "queue", QueueLimit: 20, OnCrash: "report", DrainTimeout: time.Second,
		AllowFrom: map[string][]string{"net": {"u"}},
	}
	t.Cleanup(b.net.Close)
	return b
}

// member is one gateway of a shared bot.
type member struct {
	*sharedBot
	name    string
	gw      *gateway.Gateway
	store   *postgres.Store
	runners []*terminal.Runner
	logs    *observer.ObservedLogs
	console *httptest.Server
	// published are the states of turns in which the console has published them.
	published sync.Map
	work      sync.WaitGroup
	cancel    context.CancelCauseFunc
	ended     chan error
	replaced  bool // by a successor: its lease may be lost
	client    *http.Client
}

// eagerStore is a store whose members look for work every half second. They need not wait for a
// quarter of their lease, which is long, because a busy machine is not a failure.
type eagerStore struct{ store.Store }

func (s eagerStore) Beat(ctx context.Context, lead bool) (store.Beat, error) {
	b, err := s.Store.Beat(ctx, lead)
	b.Next = min(b.Next, time.Second/2)
	return b, err
}

// stateDir is the own folder of a member.
func (b *sharedBot) stateDir(name string) string { return filepath.Join(b.dir, ".nanobot", name) }

// start starts a member and waits until it runs turns. The first one is the leader.
func (b *sharedBot) start(name string, labels ...string) *member {
	b.t.Helper()
	m := &member{sharedBot: b, name: name, client: &http.Client{Transport: &http.Transport{}}}
	m.store = musttest.Get(postgres.Open(b.t.Context(), postgres.Options{
		URL: b.url, Bot: b.bot, Name: name, TTL: time.Minute, Dir: b.stateDir(name),
		Spool: filepath.Join(b.dir, ".nanobot", "shared", "spool"), Info: store.MemberInfo{Labels: labels},
	}))(b.t)
	core, logs := observer.New(zapcore.DebugLevel)
	m.logs = logs
	log := zap.New(core)
	set := b.settings
	set.Agents = m.agents(log)
	views := console.New(m.store, log)
	m.gw = gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{"net": &gatewaytest.Channel{Name: "net", URL: b.net.URL, Client: m.client}},
		Store:    eagerStore{m.store}, MaxConcurrent: 4, Settings: set, Log: log, Labels: labels,
		NoticeDelay: time.Millisecond, BoardDelay: time.Hour, Events: func(e events.Event) { views.Observe(e) },
	})
	m.console = httptest.NewServer(views.Handler(m.gw))
	ctx, cancel := context.WithCancelCause(context.Background())
	m.cancel, m.ended = cancel, make(chan error, 1)
	ready := make(chan struct{})
	go func() { m.ended <- m.gw.Run(ctx, func() { close(ready) }) }()
	m.work.Go(func() {
		views.Run(ctx, func(_ string, data any) {
			if turn, ok := data.(console.Turn); ok {
				m.published.Store(string(turn.State)+" "+turn.Text+" "+turn.Member, true)
			}
		})
	})
	b.t.Cleanup(m.stop)
	select {
	case <-ready:
	case <-time.After(testTimeout):
		b.t.Fatalf("%s does not start", name)
	}
	return m
}

// agents returns the agents of a member, each with a runner of its own.
func (m *member) agents(log *zap.Logger) map[string]gateway.Agent {
	all := map[string]gateway.Agent{}
	add := func(name string, section config.Terminal) {
		var protocol terminal.Protocol = rich.Protocol{}
		if m.protocol != nil {
			protocol = m.protocol(m.sharedBot)
		}
		runner := musttest.Get(terminal.NewRunner(terminal.Options{
			Config: section, Workspace: m.dir, Protocol: protocol, Environ: append(os.Environ(), "MEMBER="+m.name), Log: log,
		}))(m.t)
		m.runners = append(m.runners, runner)
		all[name] = gateway.Agent{Runner: runner, Progress: "edit", Injectable: true, Labels: section.Labels}
	}
	add(store.DefaultAgent, m.terminal)
	for name, section := range m.others {
		add(name, section)
	}
	return all
}

// stop ends a member as SIGTERM does.
func (m *member) stop() { m.end(nil) }

// die ends a member without draining. Its turns stay running in the store until others adopt them.
func (m *member) die() { m.end(store.ErrUnusable) }

func (m *member) end(cause error) {
	m.t.Helper()
	if m.ended == nil {
		return
	}
	m.cancel(cause)
	select {
	case err := <-m.ended:
		if err != nil && (!m.replaced || !errors.Is(err, beat.ErrLost)) {
			m.t.Errorf("%s: %v", m.name, err)
		}
	case <-time.After(testTimeout):
		m.t.Fatalf("%s does not end", m.name)
	}
	m.ended = nil
	m.work.Wait()
	m.console.Close()
	m.client.CloseIdleConnections()
	musttest.Do(m.t, m.store.Close())
}

// write sends a message of the only admitted person.
func (b *sharedBot) write(chat, text string) { b.net.UserWrites(chat, "u", text) }

// await waits until a chat was shown a message that contains a text, and returns it.
func (b *sharedBot) await(chat, part string) gatewaytest.Call {
	b.t.Helper()
	has := func(c gatewaytest.Call) bool { return strings.Contains(c.Text, part) }
	calls, ok := b.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool { return slices.ContainsFunc(calls, has) })
	if !ok {
		b.t.Fatalf("chat %s was never shown %q, but %q", chat, part, texts(calls))
	}
	return calls[slices.IndexFunc(calls, has)]
}

// awaitTrue waits until a condition is true.
func (b *sharedBot) awaitTrue(what string, condition func() bool) {
	b.t.Helper()
	(&fixture{t: b.t}).awaitTrue(what, condition)
}

// turn returns the newest turn of a chat.
func (m *member) turn(chat string) store.Inbound {
	m.t.Helper()
	recent := musttest.Get(m.store.Turns(m.t.Context(), store.TurnFilter{
		Chat: channels.Chat{Channel: "net", ID: chat}, Limit: 1,
	}))(m.t)
	if len(recent) == 0 {
		return store.Inbound{}
	}
	return recent[0]
}

// awaitRunning waits until a member runs the newest turn of a chat.
func (m *member) awaitRunning(chat string) store.Inbound {
	m.t.Helper()
	var running store.Inbound
	m.awaitTrue("a turn of "+m.name, func() bool {
		running = m.turn(chat)
		return running.State == store.Running && running.Owner == m.store.Member()
	})
	return running
}

// awaitEnd waits until the newest turn of a chat has ended, and returns it.
func (m *member) awaitEnd(chat string) store.Inbound {
	m.t.Helper()
	var ended store.Inbound
	m.awaitTrue("the end of the turn", func() bool {
		ended = m.turn(chat)
		return !ended.Ended.IsZero()
	})
	return ended
}

// startPair starts a leader, and a member that alone has the label of the default agent.
func (b *sharedBot) startPair() (leader, worker *member) {
	b.t.Helper()
	b.terminal.Labels = []string{"gpu"}
	leader = b.start("host-a")
	b.awaitTrue("the leader", func() bool { return !leader.gw.Standby() })
	return leader, b.start("host-b", "gpu")
}
