//go:build agents

package acp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/acp/agentstest"
)

// TestClaudeCodeGoesOnInANewProcess restarts everything between two turns, and uses what the agent
// offers to choose.
func TestClaudeCodeGoesOnInANewProcess(t *testing.T) {
	goesOn(t, agentstest.ClaudeCode(t, newModel(t).URL))
}

func TestOpenCodeGoesOnInANewProcess(t *testing.T) {
	goesOn(t, agentstest.OpenCode(t, newModel(t).URL))
}

func goesOn(t *testing.T, agent agentstest.Agent) {
	d := newDesk(t, "", func(c *config.Terminal) {
		c.Command, c.Env, settings(c).Permissions = agent.Command, agent.Env, "allow"
	})
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
		if stillRunning(pid) {
			t.Errorf("%d lives on", pid)
		}
	}
}
