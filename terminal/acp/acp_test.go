package acp_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/role"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command { // the helper in front of agents
		fmt.Fprintln(os.Stderr, sandbox.Main(os.Args[2:]))
		os.Exit(126)
	}
	if os.Getenv("ACPTEST_AGENT") != "" {
		os.Exit(acptest.Main(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// fixture is a protocol with its agents and the folders of its chats.
type fixture struct {
	t         testing.TB
	cfg       config.Terminal
	workspace string
	sessions  string // the agent's own folder
	socket    string // where the gateway serves its tools
	protocol  *acp.Protocol
	runner    *terminal.Runner
	logs      *observer.ObservedLogs // of the runner: warnings
	// chatSessions are the sessions that chats have had.
	chatSessions sync.Map
}

// newFixture returns a fixture whose agent is acptest with these flags.
func newFixture(t testing.TB, flags string, change ...func(*config.Terminal)) *fixture {
	t.Helper()
	d := &fixture{t: t, workspace: t.TempDir(), sessions: t.TempDir()}
	exe := musttest.Get(os.Executable())(t)
	d.cfg = config.Default().Terminal
	d.cfg.Protocols = config.Protocols{acp.Name: acp.NewSettings()}
	d.cfg.Timeout, d.cfg.Protocol = 300, "acp"
	d.cfg.Command = "GORACE=atexit_sleep_ms=0 ACPTEST_AGENT=1 exec " + terminal.ShellQuote(exe) + " -dir " + terminal.ShellQuote(d.sessions) + " " + flags
	for _, c := range change {
		c(&d.cfg)
	}
	d.restart()
	t.Cleanup(func() {
		d.runner.Close()
		wanttest.Equal(t, "the client broke the protocol:", acptest.Violation(d.sessions), "")
	})
	return d
}

// settings returns the protocol's settings, which the caller may change.
func settings(c *config.Terminal) *acp.Settings { return acp.SettingsOf(*c) }

// allowAll lets an agent use files and commands through the gateway without a question.
func allowAll(c *config.Terminal) {
	settings(c).Rules = map[string]string{"execute": "allow", "edit": "allow", "read": "allow"}
}

// restart replaces the protocol and the runner, as a restart of the gateway does. The files stay.
func (d *fixture) restart() {
	d.t.Helper()
	if d.runner != nil {
		d.runner.Close()
	}
	d.protocol = acp.New(terminal.OpenOptions{Config: d.cfg})
	d.protocol.StopTimeout = 5 * time.Minute // tests of agents that ignore it have a short one
	core, logs := observer.New(zap.WarnLevel)
	d.logs = logs
	r := musttest.Get(terminal.NewRunner(terminal.Options{
		Config: d.cfg, Workspace: d.workspace, Protocol: d.protocol, Environ: os.Environ(), Socket: d.socket, FindLinks: findLinks, Log: zap.New(core),
	}))(d.t)
	d.runner = r
}

// person is somebody in a chat.
type person struct {
	*fixture
	channel string // "": cli
	chat    string
	token   string // of the chat
	place   terminal.Place
	ask     protocoltest.Ask
	offer   func(terminal.Question) // nil: people cannot choose
	user    *terminal.User          // the sender; nil: unknown
	// access is which sessions the sender may see.
	access terminal.SessionAccess
	role   role.Role

	forwarded *terminal.Forwarded // the next message is forwarded
	memory    *memory
	words     words.Words
	media     []string // media of the next message
	// onFrame, if not nil, is called with each frame as it is emitted.
	onFrame     func(terminal.Frame)
	boardHidden bool // the chat shows no board
	injections  chan terminal.Injection
	refused     bool             // the agent accepts no injections
	used        []terminal.Usage // reported, except for nothing
	// pushed, if not nil, receives the texts of messages between turns.
	pushed chan string

	agentInfo terminal.AgentInfo
	pids      []int
}

func (d *fixture) person(chat string) *person {
	return &person{fixture: d, chat: chat, memory: &memory{ofChats: &d.chatSessions}}
}

// turnResult is the result of a turn: its frames, its outcome and its error.
type turnResult struct {
	t      testing.TB
	frames []terminal.Frame
	out    terminal.Outcome
	err    error
}

func (p *person) send(text string) *turnResult {
	p.t.Helper()
	return p.sendUntil(p.t.Context(), text)
}

func (p *person) sendUntil(ctx context.Context, text string) *turnResult {
	p.t.Helper()
	h := &turnResult{t: p.t}
	var mu sync.Mutex
	req := terminal.Request{
		Envelope: terminal.Envelope{Channel: cmp.Or(p.channel, "cli"), ChatID: p.chat, Text: text, RunID: "run", Attempt: 1, User: p.user, Forwarded: p.forwarded, Media: p.media},
		Token:    p.token, Words: p.words, Place: p.place,
	}
	record := func(f terminal.Frame) {
		mu.Lock()
		defer mu.Unlock()
		h.frames = append(h.frames, f)
	}
	chat := &protocoltest.Chat{
		OnAsk: p.askOrOffer, Access: p.access, Who: p.role, Hidden: p.boardHidden, Inject: p.injections, OnLog: record,
		OnFrame: func(f terminal.Frame) error {
			record(f)
			if p.onFrame != nil {
				p.onFrame(f)
			}
			return nil
		},
		OnReport: func(r terminal.Report) {
			switch r := r.(type) {
			case terminal.AgentInfo:
				p.agentInfo = r
			case terminal.Launched:
				p.pids = append(p.pids, int(r))
			case terminal.InjectionsRefused:
				p.refused = true
			case terminal.Usage:
				p.used = append(p.used, r)
			}
		},
	}
	if p.pushed != nil {
		chat.OnPush = func(f terminal.Frame) error { p.pushed <- f.Text; return nil }
	}
	if p.memory != nil {
		chat.Remember = p.memory
	}
	h.out, h.err = p.runner.Turn(ctx, req, chat)
	return h
}

// shows reports whether a frame shows a text while the agent is writing it.
func shows(f terminal.Frame, text string) bool {
	return (f.Kind == terminal.Partial || f.Kind == terminal.Progress) && strings.Contains(f.Text, text)
}

// text returns the joined texts of the frames of a kind.
func (h *turnResult) text(kind terminal.Kind) string {
	var all []string
	for _, f := range h.frames {
		if f.Kind == kind {
			all = append(all, f.Text)
		}
	}
	return strings.Join(all, "\n")
}

// expect checks the status of the turn and the joined texts of its messages.
func (h *turnResult) expect(status terminal.Status, message string) *turnResult {
	h.t.Helper()
	if h.err != nil {
		h.t.Fatalf("turn: %v", h.err)
	}
	if got := h.text(terminal.Message); strings.TrimSpace(got) != message {
		h.t.Errorf("said %q, want %q", got, message)
	}
	if h.out.Status != status {
		h.t.Errorf("status %q, want %q (%s)", h.out.Status, status, h.text(terminal.Error))
	}
	return h
}

// expectError checks the status of the turn and that its error contains the parts.
func (h *turnResult) expectError(status terminal.Status, parts ...string) *turnResult {
	h.t.Helper()
	if h.err != nil {
		h.t.Fatalf("turn: %v", h.err)
	}
	wanttest.Equal(h.t, "status", h.out.Status, status)
	for _, p := range parts {
		if got := h.text(terminal.Error); !strings.Contains(got, p) {
			h.t.Errorf("error %q does not say %q", got, p)
		}
	}
	return h
}

// memory is a chat's terminal.Memory.
type memory struct {
	mu      sync.Mutex
	s       string
	lasting string // what lasts
	saves   int
	ofChats *sync.Map // the sessions of all chats
	err     error
}

func (m *memory) Load(_ context.Context, key terminal.MemoryKey) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch key {
	case terminal.ConversationMemory:
		return m.s, m.err
	case terminal.LastingMemory:
		return m.lasting, m.err
	case terminal.HeardMemory, terminal.SpeechMemory: // the runner's
	}
	text, _ := m.ofChats.Load(key)
	shared, _ := text.(string)
	return shared, nil
}

func (m *memory) Save(_ context.Context, key terminal.MemoryKey, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch key {
	case terminal.ConversationMemory:
		m.s = text
		m.saves++
	case terminal.LastingMemory:
		m.lasting = text
	default:
		m.ofChats.Store(key, text)
	}
	return nil
}

// forget clears the memory, as /new does.
func (m *memory) forget() { _ = m.Save(context.Background(), terminal.ConversationMemory, "") }

// processExists reports whether a process exists, even as a zombie.
func processExists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// eventually polls a condition that a process or a timer fulfils.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// path returns the path of a file in the workspace.
func (d *fixture) path(name string) string { return filepath.Join(d.workspace, name) }
