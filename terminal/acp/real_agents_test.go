//go:build agents

package acp_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/acp/agentstest"
)

// talk is a conversation with a real agent.
type talk struct {
	t      *testing.T
	runner *terminal.Runner
	mu     sync.Mutex
	frames []terminal.Frame
	asked  []terminal.Question
	answer string
	memory memory
}

func converse(t *testing.T, agent agentstest.Agent) *talk {
	cfg := config.Default().Terminal
	cfg.Protocol, cfg.Command, cfg.Timeout, cfg.Env = "acp", agent.Command, 120, agent.Env
	workspace := t.TempDir()
	runner, err := terminal.NewRunner(terminal.Options{
		Config: cfg, Workspace: workspace, Protocol: acp.New(cfg), Environ: os.Environ(), Log: zaptest.NewLogger(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	return &talk{t: t, runner: runner, answer: "allow"}
}

// say runs a turn and returns all messages in one.
func (k *talk) say(text string) (said string, out terminal.Outcome) {
	k.t.Helper()
	k.frames = nil
	out, err := k.runner.Turn(k.t.Context(), terminal.Request{
		Channel: "test", ChatID: "1", Text: text, RunID: "1", Memory: &k.memory,
		Ask: func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.asked = append(k.asked, q)
			i := slices.IndexFunc(q.Options, func(o string) bool { return strings.Contains(strings.ToLower(o), k.answer) })
			return terminal.Answer{Text: q.Options[max(i, 0)], By: "7"}, nil
		},
	}, func(f terminal.Frame) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.frames = append(k.frames, f)
		return nil
	})
	if err != nil {
		k.t.Fatal(err)
	}
	var all []string
	for _, f := range k.frames {
		k.t.Logf("%s: %s", f.Kind, f.Text)
		if f.Kind == terminal.Message || f.Kind == terminal.Error {
			all = append(all, f.Text)
		}
	}
	return strings.Join(all, "\n"), out
}

// whole has an agent ask for permission, run a command, tell of it, and go on with the same session
// in a new process.
func (k *talk) whole() {
	k.t.Helper()
	said, out := k.say("Run the command, please.")
	if out.Status != terminal.Done || !strings.Contains(said, "RESULT-OF-COMMAND") {
		k.t.Fatalf("%+v: %s", out, said)
	}
	if len(k.asked) == 0 {
		k.t.Error("nobody was asked for permission")
	}
	if !slices.ContainsFunc(k.frames, func(f terminal.Frame) bool { return f.Kind == terminal.Progress && strings.Contains(f.Text, "printf") }) {
		k.t.Error("the command was not shown while it ran")
	}
	before := k.memory.s
	if before == "" {
		k.t.Fatal("the session is not remembered")
	}
	began := time.Now()
	if _, out := k.say("And again, please."); out.Status != terminal.Done {
		k.t.Errorf("second turn: %+v", out)
	}
	k.t.Logf("the second turn of a kept agent took %s", time.Since(began))
	if k.memory.s != before {
		k.t.Errorf("the session changed from %s to %s", before, k.memory.s)
	}
}

func TestClaudeCodeAsksAndRunsACommandInATerminalOfOurs(t *testing.T) {
	converse(t, agentstest.ClaudeCode(t, newModel(t).URL)).whole()
}

func TestOpenCodeAsksAndStreamsAWholeTurn(t *testing.T) {
	converse(t, agentstest.OpenCode(t, newModel(t).URL)).whole()
}
