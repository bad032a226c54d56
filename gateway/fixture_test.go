package gateway_test

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// testTimeout bounds waits for events that must happen. It is long, because a busy machine is not a
// failure.
const testTimeout = 5 * time.Minute

// fixture is a gateway with a real store, real agents and a network on loopback.
type fixture struct {
	t           *testing.T
	net         *gatewaytest.Network
	dir         string // workspace; the state is in it
	terminal    config.Terminal
	agent       gateway.Agent              // the default one; start sets its runner
	otherAgents map[string]config.Terminal // the other agents, with the settings of agent
	settings    gateway.Settings
	slots       int
	protocol    terminal.Protocol
	// protocols has the protocols of agents that do not use protocol.
	protocols   map[string]terminal.Protocol
	wrapChannel func(*gatewaytest.Channel) channels.Channel // nil: as it is

	abandonAfter  time.Duration
	boardDelay    time.Duration // 0: an hour, so that no board appears on a busy machine
	watch         func(events.Event)
	audit         func(audit.Record)
	otherChannels map[string]channels.Channel   // beside net
	wrapStore     func(store.Store) store.Store // nil: the store as it is
	logs          *observer.ObservedLogs

	gw     *gateway.Gateway
	store  store.Store
	cancel context.CancelFunc
	crash  context.CancelCauseFunc // ends the gateway without draining
	ended  chan error
	client *http.Client
}

// newFixture returns a fixture whose agent is a shell script. start runs the gateway.
func newFixture(t *testing.T, script string) *fixture {
	t.Helper()
	fx := &fixture{t: t, net: gatewaytest.NewNetwork(), dir: t.TempDir(), slots: 4, protocol: rich.Protocol{}, terminal: config.Default().Terminal}
	prepareState(t, filepath.Join(fx.dir, ".nanobot"))
	fx.terminal.Command, fx.terminal.Protocol = script, "rich"
	fx.settings = gateway.Settings{
		WhileRunning: "queue", QueueLimit: 20, OnCrash: "report", DrainTimeout: time.Minute,
		AllowFrom: map[string][]string{"net": {"*"}},
	}
	fx.agent = gateway.Agent{Progress: "edit", Injectable: true}
	t.Cleanup(fx.net.Close)
	return fx
}

func (fx *fixture) start() *fixture {
	fx.t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	fx.logs = logs
	log := zap.New(core)
	fx.settings.Agents = fx.agents(log)
	var err error
	if fx.store, err = openState(fx.t.Context(), filepath.Join(fx.dir, ".nanobot")); err != nil {
		fx.t.Fatal(err)
	}
	if fx.wrapStore != nil {
		fx.store = fx.wrapStore(fx.store)
	}
	fx.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	inner := &gatewaytest.Channel{Name: "net", URL: fx.net.URL, Idempotent: fx.net.Idempotent, Client: fx.client}
	var ch channels.Channel = inner
	if fx.wrapChannel != nil {
		ch = fx.wrapChannel(inner)
	}
	all := map[string]channels.Channel{"net": ch}
	maps.Copy(all, fx.otherChannels)
	fx.gw = gateway.New(gateway.Options{
		Channels: all, Store: fx.store, MaxConcurrent: fx.slots, Settings: fx.settings, Log: log, AbandonAfter: fx.abandonAfter, NoticeDelay: time.Millisecond, BoardDelay: cmp.Or(fx.boardDelay, time.Hour), Events: fx.watch, Audit: fx.audit,
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	fx.cancel, fx.crash = func() { cancel(nil) }, cancel
	ended := make(chan error, 1)
	fx.ended = ended
	go func() { ended <- fx.gw.Run(ctx, nil) }()
	fx.t.Cleanup(fx.stop)
	return fx
}

// agents returns the agents of the settings, each with its own runner.
func (fx *fixture) agents(log *zap.Logger) map[string]gateway.Agent {
	fx.t.Helper()
	all := map[string]gateway.Agent{}
	sections := map[string]config.Terminal{store.DefaultAgent: fx.terminal}
	maps.Copy(sections, fx.otherAgents)
	for name, section := range sections {
		agent := fx.agent
		protocol := fx.protocol
		if own, ok := fx.protocols[name]; ok {
			protocol = own
		}
		var err error
		agent.Runner, err = terminal.NewRunner(terminal.Options{Config: section, Workspace: fx.dir, Protocol: protocol, Environ: os.Environ(), Log: log})
		if err != nil {
			fx.t.Fatal(err)
		}
		all[name] = agent
	}
	return all
}

// stop ends the gateway as SIGTERM does, and waits for it.
func (fx *fixture) stop() {
	fx.t.Helper()
	if fx.ended == nil {
		return
	}
	fx.cancel()
	select {
	case err := <-fx.ended:
		if err != nil {
			fx.t.Errorf("gateway: %v", err)
		}
	case <-time.After(testTimeout):
		fx.t.Fatal("the gateway does not end")
	}
	fx.ended = nil
	fx.client.CloseIdleConnections()
	if err := fx.store.Close(); err != nil {
		fx.t.Errorf("close store: %v", err)
	}
}

// texts returns the texts of messages, without progress.
func texts(calls []gatewaytest.Call) []string {
	var out []string
	for _, c := range withoutDone(calls) {
		if c.Kind != "progress" {
			out = append(out, c.Text)
		}
	}
	return out
}

// longDone is the beginning of a message that tells the end of a turn of at least five seconds.
var longDone = regexp.MustCompile(`^✓ done, ([5-9] s|\d\d s|\d+ (min|h))`)

// withoutDone returns calls without the messages that tell the end of a turn of at least five
// seconds, which any turn can take on a busy machine.
func withoutDone(calls []gatewaytest.Call) []gatewaytest.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c gatewaytest.Call) bool { return longDone.MatchString(c.Text) })
}

// expect waits until a chat was shown exactly these messages.
func (fx *fixture) expect(chat string, want ...string) {
	fx.t.Helper()
	calls, ok := fx.net.Await(chat, testTimeout, func(c []gatewaytest.Call) bool { return len(texts(c)) >= len(want) })
	if got := texts(calls); !ok || strings.Join(got, "|") != strings.Join(want, "|") {
		fx.t.Fatalf("chat %s was shown %q, want %q", chat, got, want)
	}
}

// awaitText waits until a chat was shown a message that contains a text, and returns it.
func (fx *fixture) awaitText(chat, part string) gatewaytest.Call {
	fx.t.Helper()
	var found gatewaytest.Call
	calls, ok := fx.net.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool {
		for _, c := range calls {
			if strings.Contains(c.Text, part) {
				found = c
				return true
			}
		}
		return false
	})
	if !ok {
		fx.t.Fatalf("chat %s was never shown %q, but %q; logged %v", chat, part, texts(calls), fx.logs.All())
	}
	return found
}

// awaitFile waits until an agent has created a file in the workspace.
func (fx *fixture) awaitFile(name string) {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(fx.dir, name)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("%s was never made", name)
		}
	}
}

// awaitTrue waits until a condition is true.
func (fx *fixture) awaitTrue(what string, condition func() bool) {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			fx.t.Fatalf("%s never happened", what)
		}
	}
}

// awaitReceipts waits until the gateway has recorded what it has sent. A gateway that is stopped
// before, without time to drain, sends it again after the restart.
func (fx *fixture) awaitReceipts() {
	fx.t.Helper()
	fx.awaitTrue("the receipt of the last message", func() bool {
		return countSending(fx.t, filepath.Join(fx.dir, ".nanobot")) == 0
	})
}

// awaitIdle waits until no turn of a chat is running.
func (fx *fixture) awaitIdle(chat string) {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(2 * time.Millisecond) {
		inbounds, err := fx.store.Recent(fx.t.Context(), channels.Chat{Channel: "net", ID: chat}, 10)
		busy := slices.ContainsFunc(inbounds, func(i store.Inbound) bool { return i.State == store.Running })
		if err == nil && !busy {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("chat %s is still busy: %v", chat, err)
		}
	}
}

// readWorkspace returns the content of a file in the workspace, which must exist.
func (fx *fixture) readWorkspace(name string) string {
	fx.t.Helper()
	b := musttest.Get(os.ReadFile(filepath.Join(fx.dir, name)))(fx.t)
	return string(b)
}

// touchFile creates a file that an agent waits for.
func (fx *fixture) touchFile(name string) {
	fx.t.Helper()
	musttest.Do(fx.t, os.WriteFile(filepath.Join(fx.dir, name), nil, 0o600))
}

// echo is an agent that repeats the text of its envelope.
const echo = `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "{\"type\":\"message\",\"text\":\"you said $text\"}"`

// waitForFileScript is a shell script that waits for a file.
func waitForFileScript(name string) string {
	return "while [ ! -e " + name + " ]; do sleep 0.01; done; "
}

// fileExists reports whether a file exists in the workspace.
func (fx *fixture) fileExists(name string) bool {
	_, err := os.Stat(filepath.Join(fx.dir, name))
	return err == nil
}

// removeFile removes a file from the workspace.
func (fx *fixture) removeFile(name string) {
	fx.t.Helper()
	musttest.Do(fx.t, os.Remove(filepath.Join(fx.dir, name)))
}
