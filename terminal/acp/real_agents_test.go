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

// realAgent is an agent from npm and its conversation in one chat.
type realAgent struct {
	t      *testing.T
	runner *terminal.Runner
	mu     sync.Mutex
	frames []terminal.Frame
	asked  []terminal.Question
	answer string
	memory memory
}

func startRealAgent(t *testing.T, agent agentstest.Agent) *realAgent {
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
	return &realAgent{t: t, runner: runner, answer: "allow"}
}

// send runs a turn and returns all messages in one.
func (k *realAgent) send(text string) (said string, out terminal.Outcome) {
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

// checkConversation makes an agent ask for permission and run a command, and continues the session
// in a second turn.
func (k *realAgent) checkConversation() {
	k.t.Helper()
	said, out := k.send("Run the command, please.")
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
	if _, out := k.send("And again, please."); out.Status != terminal.Done {
		k.t.Errorf("second turn: %+v", out)
	}
	k.t.Logf("the second turn of a persistent agent took %s", time.Since(began))
	if k.memory.s != before {
		k.t.Errorf("the session changed from %s to %s", before, k.memory.s)
	}
}

func TestClaudeCodeAsksAndRunsACommandInOurTerminal(t *testing.T) {
	startRealAgent(t, agentstest.ClaudeCode(t, newModel(t).URL)).checkConversation()
}

func TestOpenCodeAsksAndStreamsAWholeTurn(t *testing.T) {
	startRealAgent(t, agentstest.OpenCode(t, newModel(t).URL)).checkConversation()
}
