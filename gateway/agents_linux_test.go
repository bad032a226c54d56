package gateway_test

import (
	"strings"
	"testing"

	"nanobot/gateway/store"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// TestAKilledDaemonRunsATurnAgainWithItsAgent kills a daemon while a named agent works.
func TestAKilledDaemonRunsATurnAgainWithItsAgent(t *testing.T) {
	t.Parallel()
	c := newKillTest(t, "retry")
	c.spec.Command = namedEcho("default")
	c.spec.Named = map[string]string{"coder": `touch up; ` + waitForFileScript("go") + namedEcho("coder")}
	c.spec.Networks, c.nets = c.spec.Networks[:1], c.nets[:1]
	c.nets[0].Fault = nil
	fx := &fixture{t: t, net: c.nets[0], dir: c.spec.Dir}
	child, _ := c.startDaemon()
	fx.net.UserWrites("1", "u", "/agent coder")
	fx.awaitText("1", "Your next message goes to coder.")
	fx.net.UserWrites("1", "u", "hello")
	fx.awaitFile("up")
	child.Kill()
	fx.touchFile("go")
	child, _ = c.startDaemon()
	fx.expect("1", "Your next message goes to coder.", "coder heard hello")
	if err := child.End(); err != nil {
		t.Error(err)
	}
}

// The process that an agent keeps between turns is left alone while another one answers.
func TestEachAgentKeepsItsOwnProcess(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, remembers)
	fx.addAgent("coder", remembers)
	def, coder := &persistentProtocol{}, &persistentProtocol{}
	fx.protocols = map[string]terminal.Protocol{store.DefaultAgent: def, "coder": coder}
	fx.start()
	for _, c := range [][2]string{
		{"save of default", "known: "},
		{"/agent coder", "Your next message goes to coder."},
		{"save of coder", "known: "},
		{"x", "known: of coder"},
		{"/agent default", "Your next message goes to default."},
		{"x", "known: of default"},
	} {
		if got := fx.writeAndAwait("1", c[0]); !strings.HasPrefix(got, c[1]) {
			t.Errorf("to %q: %q, want %q", c[0], got, c[1])
		}
	}
	wanttest.Equal(t, "processes were started:", len(fx.agentPIDs()), 2)
	fx.stop()
	if def.closed != 1 || coder.closed != 1 {
		t.Errorf("closed %d and %d times", def.closed, coder.closed)
	}
}
