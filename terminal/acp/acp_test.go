package acp_test

import (
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

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/acp/acptest"
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

// desk is an agent that is kept by a protocol, and the chats that talk with it.
type desk struct {
	t         testing.TB
	cfg       config.Terminal
	workspace string
	sessions  string // the agent's own folder
	socket    string // where the gateway serves its tools
	protocol  *acp.Protocol
	runner    *terminal.Runner
}

// newDesk returns a desk whose agent has these flags of acptest.
func newDesk(t testing.TB, flags string, change ...func(*config.Terminal)) *desk {
	t.Helper()
	d := &desk{t: t, workspace: t.TempDir(), sessions: t.TempDir()}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
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
		if wrong := acptest.Violation(d.sessions); wrong != "" {
			t.Errorf("the client broke the protocol: %s", wrong)
		}
	})
	return d
}

// settings returns those of the protocol, to be changed.
func settings(c *config.Terminal) *acp.Settings { return acp.SettingsOf(*c) }

// unasked lets an agent use files and commands through the gateway without a question.
func unasked(c *config.Terminal) {
	settings(c).Rules = map[string]string{"execute": "allow", "edit": "allow", "read": "allow"}
}

// restart begins anew with what is on disk, as after a restart of the gateway.
func (d *desk) restart() {
	d.t.Helper()
	if d.runner != nil {
		d.runner.Close()
	}
	d.protocol = acp.New(d.cfg)
	r, err := terminal.NewRunner(terminal.Options{
		Config: d.cfg, Workspace: d.workspace, Protocol: d.protocol, Environ: os.Environ(), Socket: d.socket, Log: zap.NewNop(),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.runner = r
}

// person is somebody in a chat.
type person struct {
	*desk
	chat  string
	token string // of the chat
	ask   terminal.Ask
	mem   *memory
	pass  []string // media of the next message
	// saw is called with each frame as it comes.
	saw func(terminal.Frame)

	about terminal.AgentInfo
	pids  []int
}

func (d *desk) person(chat string) *person { return &person{desk: d, chat: chat, mem: &memory{}} }

// heard is what came of a message.
type heard struct {
	t      testing.TB
	frames []terminal.Frame
	out    terminal.Outcome
	err    error
}

func (p *person) says(text string) *heard {
	p.t.Helper()
	return p.saysUntil(p.t.Context(), text)
}

func (p *person) saysUntil(ctx context.Context, text string) *heard {
	p.t.Helper()
	h := &heard{t: p.t}
	var mu sync.Mutex
	req := terminal.Request{
		Channel: "cli", ChatID: p.chat, Text: text, RunID: "run", Attempt: 1, Ask: p.ask, Media: p.pass, Token: p.token,
		OnAgentInfo: func(a terminal.AgentInfo) { p.about = a },
		OnLaunch:    func(pid int) { p.pids = append(p.pids, pid) },
		OnLog: func(f terminal.Frame) {
			mu.Lock()
			defer mu.Unlock()
			h.frames = append(h.frames, f)
		},
	}
	if p.mem != nil {
		req.Memory = p.mem
	}
	h.out, h.err = p.runner.Turn(ctx, req, func(f terminal.Frame) error {
		mu.Lock()
		h.frames = append(h.frames, f)
		mu.Unlock()
		if p.saw != nil {
			p.saw(f)
		}
		return nil
	})
	return h
}

// text returns what frames of a kind say, one after the other.
func (h *heard) text(kind terminal.Kind) string {
	var all []string
	for _, f := range h.frames {
		if f.Kind == kind {
			all = append(all, f.Text)
		}
	}
	return strings.Join(all, "\n")
}

// is checks how the turn ended and all that was answered.
func (h *heard) is(status terminal.Status, message string) *heard {
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

// fails checks what went wrong.
func (h *heard) fails(status terminal.Status, parts ...string) *heard {
	h.t.Helper()
	if h.err != nil {
		h.t.Fatalf("turn: %v", h.err)
	}
	if h.out.Status != status {
		h.t.Errorf("status %q, want %q", h.out.Status, status)
	}
	for _, p := range parts {
		if got := h.text(terminal.Error); !strings.Contains(got, p) {
			h.t.Errorf("error %q does not say %q", got, p)
		}
	}
	return h
}

// memory is what is known of a chat.
type memory struct {
	mu    sync.Mutex
	s     string
	past  string // what lasts
	saves int
	err   error
}

func (m *memory) Load(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s, m.err
}

func (m *memory) Save(_ context.Context, s string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s = s
	m.saves++
	return nil
}

func (m *memory) LoadLasting(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.past, m.err
}

func (m *memory) SaveLasting(_ context.Context, s string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.past = s
	return nil
}

// forget is what /new does.
func (m *memory) forget() { _ = m.Save(context.Background(), "") }

// stillRunning says whether a process is there.
func stillRunning(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// eventually waits for something that happens by itself, in a process or a timer.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// file returns a path that is not there yet.
func (d *desk) file(name string) string { return filepath.Join(d.workspace, name) }
