package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// useTestNetwork gives the program a network on loopback.
func useTestNetwork(url string) {
	networks = append(networks, channels.Description{
		Channel: config.Channel{Name: "net", Description: "A test network.", New: func() config.ChannelSettings { return &testSettings{AllowFrom: []string{}} }},
		Open: func(channels.OpenOptions) (channels.Channel, error) {
			return &gatewaytest.Channel{Name: "net", URL: url}, nil
		},
	})
}

// testSettings are the settings of the test network.
type testSettings struct {
	AllowFrom []string `json:"allowFrom" jsonschema_description:"Who may talk to the bot."`
}

func (s *testSettings) On() bool                            { return true }
func (s *testSettings) Allowed() []string                   { return s.AllowFrom }
func (s *testSettings) CheckUserID(id string) error         { return channels.CheckNumericID(id) }
func (s *testSettings) UserIDExample() string               { return "7" }
func (s *testSettings) Check(config.Scope) []config.Problem { return nil }
func (s *testSettings) Warnings(config.Scope) []string      { return nil }

// bot is the daemon with a network.
type bot struct {
	*program
	net *gatewaytest.Network
	cfg string
}

func newBot(t *testing.T) *bot {
	t.Helper()
	b := &bot{net: gatewaytest.NewNetwork(), cfg: filepath.Join(t.TempDir(), "config.json")}
	sqlitetest.Prepare(t, filepath.Join(filepath.Dir(b.cfg), ".nanobot"))
	t.Cleanup(b.net.Close)
	networkURLs.Store(t.Name(), b.net.URL)
	return b
}

func startBot(t *testing.T, cfg string) *bot {
	t.Helper()
	b := newBot(t)
	b.configure(t, cfg)
	b.program = startProgram(t, "serve", "--config", b.cfg)
	return b
}

func (b *bot) configure(t *testing.T, cfg string) {
	t.Helper()
	musttest.Do(t, os.WriteFile(b.cfg, []byte(cfg), 0o600))
}

// awaitText waits until a chat was shown a text.
func (b *bot) awaitText(chat, text string) gatewaytest.Call {
	b.t.Helper()
	var found gatewaytest.Call
	calls, ok := b.net.Await(chat, waitTimeout, func(calls []gatewaytest.Call) bool {
		for _, c := range calls {
			if strings.Contains(c.Text, text) {
				found = c
				return true
			}
		}
		return false
	})
	if !ok {
		b.t.Fatalf("chat %s was never shown %q, but %+v", chat, text, calls)
	}
	return found
}

// runCommand runs another command while the daemon runs and returns its output.
func (b *bot) runCommand(args ...string) (string, error) {
	out, err := programCommand(b.t, append(args, "--config", b.cfg)...).CombinedOutput()
	return string(out), err
}

// lockState makes sure that no other process can write to the state until it is unlocked. It waits
// for a write of the daemon to end.
func (b *bot) lockState() (unlock func()) {
	b.t.Helper()
	path := filepath.Join(filepath.Dir(b.cfg), ".nanobot", "nanobot.db")
	db := musttest.Get(sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)", path, waitTimeout.Milliseconds())))(b.t)
	b.t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	exec := func(query string) {
		b.t.Helper()
		musttest.Get(db.ExecContext(context.Background(), query))(b.t)
	}
	exec("BEGIN IMMEDIATE")
	return func() { exec("ROLLBACK") }
}

const anybody = `, "channels": {"net": {"allowFrom": ["*"]}}}`

func TestServeAnswersAndDrainsOnSIGTERM(t *testing.T) {
	b := startBot(t, `{"terminal": {"command": "echo got {message}; touch up; while [ ! -e go ]; do sleep 0.01; done"}`+anybody)
	b.net.UserWrites("1", "7", "hello")
	up := filepath.Join(filepath.Dir(b.cfg), "up")
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(up); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent was never started")
		}
	}
	if out, err := b.runCommand("serve"); err == nil || !strings.Contains(out, "another nanobot is running on this state") {
		t.Errorf("a second daemon says %q, %v", out, err)
	}
	b.signal(syscall.SIGTERM)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	b.awaitText("1", "got hello")
}

func TestServeReloadsAndKeepsTheLastGoodConfig(t *testing.T) {
	b := startBot(t, `{"terminal": {"command": "echo first"}`+anybody)
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "first")
	b.configure(t, `{"terminal": {"comand": "echo broken"}`+anybody)
	b.signal(syscall.SIGHUP)
	b.awaitLog("config not reloaded, the old one stays in use")
	b.net.UserWrites("2", "7", "hello")
	b.awaitText("2", "first")
	b.configure(t, `{"terminal": {"command": "echo second"}`+anybody)
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	b.net.UserWrites("3", "7", "hello")
	if call := b.awaitText("3", ""); !strings.Contains(call.Text, "second") {
		t.Errorf("the new config did not take effect: %+v", call)
	}
}

func TestServeRunsTheAgentThatAChatHasChosen(t *testing.T) {
	const cfg = `{"terminal": {"command": "echo from default"}, "agents": {%s}`
	b := startBot(t, fmt.Sprintf(cfg, `"coder": {"command": "echo from coder"}`)+anybody)
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "from default")
	b.net.UserWrites("1", "7", "/agent coder")
	if call := b.awaitText("1", "Your next message goes to coder."); len(call.Buttons) != 0 {
		t.Errorf("it offers %v", call.Buttons)
	}
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "from coder")
	b.configure(t, fmt.Sprintf(cfg, `"writer": {"command": "echo from writer"}`)+anybody)
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "The agent coder is no longer available, so default answers from now on. /agent chooses another.")
	b.net.UserWrites("1", "7", "/agent")
	if call := b.awaitText("1", "To change, send /agent NAME: writer."); !slices.Equal(call.Buttons, []string{"agent:writer"}) {
		t.Errorf("it offers %v", call.Buttons)
	}
	b.net.UserPresses("1", "7", "agent:writer")
	b.awaitText("1", "Your next message goes to writer")
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "from writer")
}

func TestServeReloadsAccessAndTheLogLevel(t *testing.T) {
	const cfg = `{"terminal": {"command": "echo hi"}, "log": {"level": %q, "format": "json"}, "channels": {"net": {"allowFrom": %s}}}`
	b := startBot(t, fmt.Sprintf(cfg, "error", `["7"]`))
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "hi")
	b.net.UserWrites("2", "8", "hello")
	b.awaitText("2", "This bot is private")
	if strings.Contains(b.log(), "turn ended") {
		t.Error("it says more than errors")
	}
	b.configure(t, fmt.Sprintf(cfg, "info", `["8"]`))
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	b.net.UserWrites("2", "8", "hello")
	b.awaitText("2", "hi")
	b.awaitLog("turn ended")
	b.net.UserWrites("3", "7", "hello")
	b.awaitText("3", "This bot is private")
}

func TestPairLetsSomebodyInWhileTheDaemonRuns(t *testing.T) {
	t.Parallel()
	b := startBot(t, `{"terminal": {"command": "echo welcome"}, "channels": {"net": {"allowFrom": []}}}`)
	b.net.UserWrites("1", "7", "let me in")
	text := b.awaitText("1", "nanobot pair ").Text
	_, code, _ := strings.Cut(text, "nanobot pair ")
	code, _, _ = strings.Cut(code, "\n")
	if out, err := b.runCommand("pair", "--list"); err != nil || !strings.Contains(out, "net:7\twaiting, code "+code) {
		t.Errorf("list: %q, %v", out, err)
	}
	if out, err := b.runCommand("pair", strings.ToLower(code)); err != nil || !strings.Contains(out, "net:7 may talk to the bot now") {
		t.Fatalf("pair: %q, %v", out, err)
	}
	b.awaitText("1", "You have access now.")
	b.awaitText("1", "welcome") // to what was said before
	if out, err := b.runCommand("pair", code); err == nil || !strings.Contains(out, "is unknown") {
		t.Errorf("the code worked twice: %q, %v", out, err)
	}
	if out, err := b.runCommand("pair", "--revoke", "net:7"); err != nil || !strings.Contains(out, "no longer has access") {
		t.Errorf("revoke: %q, %v", out, err)
	}
	b.net.UserWrites("1", "7", "hello?")
	calls, ok := b.net.Await("1", waitTimeout, func(c []gatewaytest.Call) bool { return len(c) == 4 })
	if !ok || !strings.Contains(calls[3].Text, "nanobot pair ") {
		t.Errorf("after being shut out: %+v", calls)
	}
}
