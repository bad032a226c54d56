package gateway_test

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
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
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// patience bounds waits for what must happen. It is long because a loaded machine is no failure.
const patience = 5 * time.Minute

// rig is a gateway with a real store, real agents and a network on loopback.
type rig struct {
	t        *testing.T
	net      *gatewaytest.Network
	dir      string // workspace; the state is in it
	terminal config.Terminal
	agent    gateway.Agent              // the default one; start sets its runner
	named    map[string]config.Terminal // the other agents, with the settings of agent
	settings gateway.Settings
	slots    int
	protocol terminal.Protocol
	// protocols are those of agents that do not share protocol.
	protocols map[string]terminal.Protocol
	wrap      func(*gatewaytest.Channel) channels.Channel // nil: as it is

	abandonAfter time.Duration
	notifyAfter  time.Duration
	watch        func(events.Event)
	audit        func(audit.Record)
	also         map[string]channels.Channel   // beside net
	hook         func(store.Store) store.Store // nil: the store as it is
	logs         *observer.ObservedLogs

	gw     *gateway.Gateway
	store  store.Store
	cancel context.CancelFunc
	crash  context.CancelCauseFunc // ends the gateway without draining
	ended  chan error
	client *http.Client
}

// newRig returns a rig whose agent is a shell script. start begins to run it.
func newRig(t *testing.T, script string) *rig {
	t.Helper()
	r := &rig{t: t, net: gatewaytest.NewNetwork(), dir: t.TempDir(), slots: 4, protocol: rich.Protocol{}, terminal: config.Default().Terminal}
	sqlitetest.Prepare(t, filepath.Join(r.dir, ".nanobot"))
	r.terminal.Command, r.terminal.Protocol = script, "rich"
	r.settings = gateway.Settings{
		WhileRunning: "queue", QueueLimit: 20, OnCrash: "report", DrainTimeout: 10 * time.Second,
		AllowFrom: map[string][]string{"net": {"*"}},
	}
	r.agent = gateway.Agent{Progress: "edit", Injectable: true}
	t.Cleanup(r.net.Close)
	return r
}

func (r *rig) start() *rig {
	r.t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	r.logs = logs
	log := zap.New(core)
	r.settings.Agents = r.agents(log)
	var err error
	if r.store, err = sqlite.Open(r.t.Context(), filepath.Join(r.dir, ".nanobot"), sqlite.Options{}); err != nil {
		r.t.Fatal(err)
	}
	if r.hook != nil {
		r.store = r.hook(r.store)
	}
	r.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	inner := &gatewaytest.Channel{Name: "net", URL: r.net.URL, Idempotent: r.net.Idempotent, Client: r.client}
	var ch channels.Channel = inner
	if r.wrap != nil {
		ch = r.wrap(inner)
	}
	all := map[string]channels.Channel{"net": ch}
	maps.Copy(all, r.also)
	r.gw = gateway.New(gateway.Options{
		Channels: all, Store: r.store, MaxConcurrent: r.slots, Settings: r.settings, Log: log, AbandonAfter: r.abandonAfter, NotifyAfter: r.notifyAfter, Events: r.watch, Audit: r.audit,
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel, r.crash = func() { cancel(nil) }, cancel
	ended := make(chan error, 1)
	r.ended = ended
	go func() { ended <- r.gw.Run(ctx, nil) }()
	r.t.Cleanup(r.stop)
	return r
}

// agents are those of the settings, each with a runner of its own.
func (r *rig) agents(log *zap.Logger) map[string]gateway.Agent {
	r.t.Helper()
	all := map[string]gateway.Agent{}
	sections := map[string]config.Terminal{store.DefaultAgent: r.terminal}
	maps.Copy(sections, r.named)
	for name, section := range sections {
		agent := r.agent
		protocol := r.protocol
		if own, ok := r.protocols[name]; ok {
			protocol = own
		}
		var err error
		agent.Runner, err = terminal.NewRunner(terminal.Options{Config: section, Workspace: r.dir, Protocol: protocol, Environ: os.Environ(), Log: log})
		if err != nil {
			r.t.Fatal(err)
		}
		all[name] = agent
	}
	return all
}

// stop ends the gateway as SIGTERM does, and waits for it.
func (r *rig) stop() {
	r.t.Helper()
	if r.ended == nil {
		return
	}
	r.cancel()
	select {
	case err := <-r.ended:
		if err != nil {
			r.t.Errorf("gateway: %v", err)
		}
	case <-time.After(patience):
		r.t.Fatal("the gateway does not end")
	}
	r.ended = nil
	r.client.CloseIdleConnections()
	if err := r.store.Close(); err != nil {
		r.t.Errorf("close store: %v", err)
	}
}

// texts are what a chat was shown, progress left out.
func texts(calls []gatewaytest.Call) []string {
	var out []string
	for _, c := range calls {
		if c.Kind != "progress" {
			out = append(out, c.Text)
		}
	}
	return out
}

// expect waits until a chat was shown exactly these messages.
func (r *rig) expect(chat string, want ...string) {
	r.t.Helper()
	calls, ok := r.net.Await(chat, patience, func(c []gatewaytest.Call) bool { return len(texts(c)) >= len(want) })
	if got := texts(calls); !ok || strings.Join(got, "|") != strings.Join(want, "|") {
		r.t.Fatalf("chat %s was shown %q, want %q", chat, got, want)
	}
}

// expectMatch waits for one more message than before that contains a text, and returns it.
func (r *rig) awaitText(chat, part string) gatewaytest.Call {
	r.t.Helper()
	var found gatewaytest.Call
	calls, ok := r.net.Await(chat, patience, func(calls []gatewaytest.Call) bool {
		for _, c := range calls {
			if strings.Contains(c.Text, part) {
				found = c
				return true
			}
		}
		return false
	})
	if !ok {
		r.t.Fatalf("chat %s was never shown %q, but %q; logged %v", chat, part, texts(calls), r.logs.All())
	}
	return found
}

// awaitFile waits until an agent has made a file in the workspace.
func (r *rig) awaitFile(name string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s was never made", name)
		}
	}
}

// awaitTrue waits until something is so.
func (r *rig) awaitTrue(what string, so func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s never happened", what)
		}
	}
}

// awaitReceipts waits until the gateway has recorded what it has sent. A gateway that is stopped
// before, without time to drain, sends it again after the restart.
func (r *rig) awaitReceipts() {
	r.t.Helper()
	r.awaitTrue("the receipt of the last message", func() bool {
		return sqlitetest.CountSending(r.t, filepath.Join(r.dir, ".nanobot")) == 0
	})
}

// awaitIdle waits until no turn of a chat is running.
func (r *rig) awaitIdle(chat string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		inbounds, err := r.store.Recent(r.t.Context(), channels.Chat{Channel: "net", ID: chat}, 10)
		busy := slices.ContainsFunc(inbounds, func(i store.Inbound) bool { return i.State == store.Running })
		if err == nil && !busy {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("chat %s is still busy: %v", chat, err)
		}
	}
}

// read returns what an agent has written to a file in the workspace.
func (r *rig) read(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// touch makes a file that an agent waits for.
func (r *rig) touch(name string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// echo is an agent that repeats the text of its envelope.
const echo = `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "{\"type\":\"message\",\"text\":\"you said $text\"}"`

// until is a piece of script that waits for a file.
func until(name string) string { return "while [ ! -e " + name + " ]; do sleep 0.01; done; " }

// exists reports whether there is a file in the workspace.
func (r *rig) exists(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

// remove removes a file from the workspace.
func (r *rig) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// long reports whether tests may take minutes: NANOBOT_LONG=1 asks for it.
func long() bool { return os.Getenv("NANOBOT_LONG") == "1" }
