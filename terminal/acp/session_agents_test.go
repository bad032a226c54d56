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

// TestClaudeCodeContinuesInANewProcess restarts everything between two turns, and then
// shows the modes, models and sessions that the agent offers.
func TestClaudeCodeContinuesInANewProcess(t *testing.T) {
	checkResumed(t, agentstest.ClaudeCode(t, newModel(t).URL))
}

func TestOpenCodeContinuesInANewProcess(t *testing.T) {
	checkResumed(t, agentstest.OpenCode(t, newModel(t).URL))
}

func checkResumed(t *testing.T, agent agentstest.Agent) {
	d := newFixture(t, "", func(c *config.Terminal) {
		c.Command, c.Env, settings(c).Permissions = agent.Command, agent.Env, "allow"
	})
	p := d.person("a")
	began := time.Now()
	p.onFrame = func(f terminal.Frame) { t.Logf("%.1f s: %s %.60q", time.Since(began).Seconds(), f.Kind, f.Text) }
	if h := p.send("Run the command, please."); h.err != nil || h.out.Status != terminal.Done {
		t.Fatalf("%v %+v %s", h.err, h.out, h.text(terminal.Error))
	}
	session := p.memory.s
	d.restart()
	h := p.send("And again, please.")
	if h.err != nil || h.out.Status != terminal.Done || p.memory.s != session || strings.Contains(h.text(terminal.Message), newSessionNotice) {
		t.Errorf("%v %+v %q %q", h.err, h.out, h.text(terminal.Message), h.text(terminal.Log))
	}
	for _, text := range []string{"/mode", "/model", "/sessions"} {
		h := p.send(text)
		t.Logf("%s: %s%s", text, h.text(terminal.Message), h.text(terminal.Error))
		if h.out.Status != terminal.Done {
			t.Errorf("%s: %+v", text, h.out)
		}
	}
	t.Logf("about: %+v", p.agentInfo)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	p.sendUntil(ctx, "And stop.").expectError(terminal.Stopped, "Stopped.")
	p.send("And on.").expectError(terminal.Done)
	d.runner.Close()
	for _, pid := range p.pids {
		if processExists(pid) {
			t.Errorf("%d lives on", pid)
		}
	}
}
