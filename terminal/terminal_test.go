package terminal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/plain"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/rich"
	"nanobot/terminal/sandbox"
)

// TestMain also makes the test binary the sandbox helper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		fmt.Fprintln(os.Stderr, sandbox.Main(os.Args[2:]))
		os.Exit(126)
	}
	goleak.VerifyTestMain(m)
}

// turnFixture is an agent that is a shell script, with its configuration and the result of its
// turn.
type turnFixture struct {
	t         *testing.T
	workspace string
	opts      terminal.Options
	req       terminal.Request
	chat      protocoltest.Chat
	emit      func(terminal.Frame) error

	frames []terminal.Frame
	out    terminal.Outcome
	err    error
	logs   *observer.ObservedLogs
}

func newTurnFixture(t *testing.T, protocol, script string) *turnFixture {
	t.Helper()
	cfg := config.Default().Terminal
	cfg.Command, cfg.Protocol, cfg.Timeout = script, protocol, 600 // only what hangs takes so long
	core, logs := observer.New(zapcore.DebugLevel)
	b := &turnFixture{t: t, workspace: t.TempDir(), logs: logs}
	b.opts = terminal.Options{
		Config: cfg, Workspace: b.workspace, Environ: os.Environ(), Log: zap.New(core),
		Protocol: map[string]terminal.Protocol{"plain": plain.Protocol{}, "rich": rich.Protocol{}}[protocol],
	}
	b.req = terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "local", Text: "hello", RunID: "run", Attempt: 1}}
	return b
}

// run runs one turn and records the frames.
func (b *turnFixture) run() *turnFixture {
	b.t.Helper()
	return b.runUntil(b.t.Context())
}

// runUntil is run with a context that may end before the turn.
func (b *turnFixture) runUntil(ctx context.Context) *turnFixture {
	b.t.Helper()
	r := musttest.Get(terminal.NewRunner(b.opts))(b.t)
	b.frames = nil
	b.chat.OnFrame = func(f terminal.Frame) error {
		if !f.Board { // the last line of a slow turn in plain mode
			b.frames = append(b.frames, f)
		}
		if b.emit != nil {
			return b.emit(f)
		}
		return nil
	}
	b.out, b.err = r.Turn(ctx, b.req, &b.chat)
	return b
}

// expectFrames checks the status and the frames, one string per frame: kind, text, and the base
// names of the files.
func (b *turnFixture) expectFrames(status terminal.Status, want ...string) *turnFixture {
	b.t.Helper()
	if b.err != nil {
		b.t.Fatalf("turn: %v", b.err)
	}
	var got []string
	for _, f := range b.frames {
		line := string(f.Kind) + ": " + f.Text
		for _, file := range f.Checked {
			line += " [" + filepath.Base(file.Path) + "]"
		}
		got = append(got, line)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.t.Errorf("got:\n%s\nwant:\n%s", shorten(strings.Join(got, "\n")), shorten(strings.Join(want, "\n")))
	}
	wanttest.Equal(b.t, "status", b.out.Status, status)
	return b
}

func shorten(s string) string {
	if len(s) > 2000 {
		return s[:1000] + " … " + s[len(s)-1000:]
	}
	return s
}

// putFile writes a file into the workspace and returns its path.
func (b *turnFixture) putFile(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.workspace, name)
	musttest.Do(b.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// frame returns the line of a shell script that prints a frame.
func frame(f map[string]any) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return "printf '%s\\n' " + terminal.ShellQuote(string(b)) + "\n"
}
