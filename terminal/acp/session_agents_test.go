//go:build agents

package acp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// TestClaudeCodeGoesOnInANewProcess restarts everything between two turns, and uses what the agent
// offers to choose.
func TestClaudeCodeGoesOnInANewProcess(t *testing.T) {
	m := newModel(t, command)
	program := install(t, "@zed-industries/claude-code-acp@0.16.2", "claude-code-acp")
	goesOn(t, program, map[string]string{
		"ANTHROPIC_BASE_URL": m.URL, "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1", "HOME": t.TempDir(),
		"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	})
}

func TestOpenCodeGoesOnInANewProcess(t *testing.T) {
	m := newModel(t, command)
	cfg := `{"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"` + m.URL + `/v1","apiKey":"x"},"models":{"fake":{"tool_call":true}}}},` +
		`"model":"fake/fake","small_model":"fake/fake","permission":{"bash":"ask"},"autoupdate":false,"share":"disabled"}`
	goesOn(t, install(t, "opencode-ai", "opencode")+" acp", map[string]string{
		"OPENCODE_CONFIG_CONTENT": cfg, "HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "OPENCODE_DISABLE_MODELS_FETCH": "1",
	})
}

func goesOn(t *testing.T, command string, env map[string]string) {
	d := newDesk(t, "", func(c *config.Terminal) { c.Command, c.Env, settings(c).Permissions = command, env, "allow" })
	p := d.person("a")
	began := time.Now()
	p.saw = func(f terminal.Frame) { t.Logf("%.1f s: %s %.60q", time.Since(began).Seconds(), f.Kind, f.Text) }
	if h := p.says("Run the command, please."); h.err != nil || h.out.Status != terminal.Done {
		t.Fatalf("%v %+v %s", h.err, h.out, h.text(terminal.Error))
	}
	session := p.mem.s
	d.restart()
	h := p.says("And again, please.")
	if h.err != nil || h.out.Status != terminal.Done || p.mem.s != session || strings.Contains(h.text(terminal.Message), newOne) {
		t.Errorf("%v %+v %q %q", h.err, h.out, h.text(terminal.Message), h.text(terminal.Log))
	}
	for _, text := range []string{"/mode", "/model", "/sessions"} {
		h := p.says(text)
		t.Logf("%s: %s%s", text, h.text(terminal.Message), h.text(terminal.Error))
		if h.out.Status != terminal.Done {
			t.Errorf("%s: %+v", text, h.out)
		}
	}
	t.Logf("about: %+v", p.about)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	p.saysUntil(ctx, "And stop.").fails(terminal.Stopped, "Stopped.")
	p.says("And on.").fails(terminal.Done)
	d.runner.Close()
	for _, pid := range p.pids {
		if alive(pid) {
			t.Errorf("%d lives on", pid)
		}
	}
}
