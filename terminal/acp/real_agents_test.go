//go:build agents

package acp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/acp"
)

// install puts an agent from npm into a folder that is kept between runs, and returns its program.
func install(t *testing.T, pkg, program string) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "nanobot-agents")
	path := filepath.Join(dir, "node_modules", ".bin", program)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	out, err := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("npm install %s: %v\n%s", pkg, err, out)
	}
	return path
}

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

func converse(t *testing.T, command string, env map[string]string) *talk {
	cfg := config.Default().Terminal
	cfg.Protocol, cfg.Command, cfg.Timeout, cfg.Env = "acp", command, 120, env
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

// command prints what the model looks for, and does not contain it.
const command = `printf 'RESULT-OF-%s\n' COMMAND`

func TestClaudeCodeAsksAndRunsACommandInATerminalOfOurs(t *testing.T) {
	m := newModel(t, command)
	converse(t, install(t, "@zed-industries/claude-code-acp@0.16.2", "claude-code-acp"), map[string]string{
		"ANTHROPIC_BASE_URL": m.URL, "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1", "HOME": t.TempDir(),
		"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}).whole()
}

func TestOpenCodeAsksAndStreamsAWholeTurn(t *testing.T) {
	m := newModel(t, command)
	cfg := `{"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"` + m.URL + `/v1","apiKey":"x"},"models":{"fake":{"tool_call":true}}}},` +
		`"model":"fake/fake","small_model":"fake/fake","permission":{"bash":"ask"},"autoupdate":false,"share":"disabled"}`
	converse(t, install(t, "opencode-ai", "opencode")+" acp", map[string]string{
		"OPENCODE_CONFIG_CONTENT": cfg, "HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "OPENCODE_DISABLE_MODELS_FETCH": "1",
	}).whole()
}
