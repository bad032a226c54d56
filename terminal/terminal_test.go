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
	"nanobot/terminal"
	"nanobot/terminal/plain"
	"nanobot/terminal/rich"
	"nanobot/terminal/sandbox"
)

// TestMain makes the test binary the helper that confines agents too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		fmt.Fprintln(os.Stderr, sandbox.Main(os.Args[2:]))
		os.Exit(126)
	}
	goleak.VerifyTestMain(m)
}

// turnRig is an agent on a workbench: a shell script, how it is configured, and what came of it.
type turnRig struct {
	t         *testing.T
	workspace string
	opts      terminal.Options
	req       terminal.Request
	emit      func(terminal.Frame) error

	frames []terminal.Frame
	out    terminal.Outcome
	err    error
	logs   *observer.ObservedLogs
}

func newTurnRig(t *testing.T, protocol, script string) *turnRig {
	t.Helper()
	cfg := config.Default().Terminal
	cfg.Command, cfg.Protocol, cfg.Timeout = script, protocol, 600 // only what hangs takes so long
	core, logs := observer.New(zapcore.DebugLevel)
	b := &turnRig{t: t, workspace: t.TempDir(), logs: logs}
	b.opts = terminal.Options{
		Config: cfg, Workspace: b.workspace, Environ: os.Environ(), Log: zap.New(core),
		Protocol: map[string]terminal.Protocol{"plain": plain.Protocol{}, "rich": rich.Protocol{}}[protocol],
	}
	b.req = terminal.Request{Channel: "cli", ChatID: "local", Text: "hello", RunID: "run", Attempt: 1}
	return b
}

// run makes one turn and gathers what is emitted.
func (b *turnRig) run() *turnRig {
	b.t.Helper()
	return b.runUntil(b.t.Context())
}

// runUntil is run with a context that may end before the turn.
func (b *turnRig) runUntil(ctx context.Context) *turnRig {
	b.t.Helper()
	r, err := terminal.NewRunner(b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	b.frames = nil
	b.out, b.err = r.Turn(ctx, b.req, func(f terminal.Frame) error {
		b.frames = append(b.frames, f)
		if b.emit != nil {
			return b.emit(f)
		}
		return nil
	})
	return b
}

// expectFrames checks what was emitted, a line a frame: kind, text, and the base names of files.
func (b *turnRig) expectFrames(status terminal.Status, want ...string) *turnRig {
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
		b.t.Errorf("got:\n%s\nwant:\n%s", short(strings.Join(got, "\n")), short(strings.Join(want, "\n")))
	}
	if b.out.Status != status {
		b.t.Errorf("status %s, want %s", b.out.Status, status)
	}
	return b
}

func short(s string) string {
	if len(s) > 2000 {
		return s[:1000] + " … " + s[len(s)-1000:]
	}
	return s
}

// write puts a file into the workspace and returns its path.
func (b *turnRig) write(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.workspace, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// frame is a line that prints a frame in a shell script.
func frame(f map[string]any) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return "printf '%s\\n' " + terminal.ShellQuote(string(b)) + "\n"
}
