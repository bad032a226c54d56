package acp_test

import (
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestAnErrorOfTheAgentHasNoJSON(t *testing.T) {
	t.Parallel()
	const failure = `fail API Error: 400 {"error":{"message":"prompt is too long","type":"invalid_request_error"}}`
	for name, reveal := range map[string]config.Selection{"revealed": {All: true}, "not revealed": {}} {
		d := newFixture(t, "", func(c *config.Terminal) { c.RevealErrors = reveal })
		wanttest.Equal(t, name, d.person("a").send(failure).text(terminal.Error), "Error: Prompt is too long")
		h := d.person("b").send(`fail {"status":500}`)
		wanttest.Equal(t, name, h.text(terminal.Error), "Error: The agent reports an error without saying which.")
	}
	d := newShellAgent(t, untilPrompt+`
printf '%s\n' '{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"error":{"message":"no such model"},"status":404}}}'
read -r line`)
	wanttest.Equal(t, "data", d.person("a").send("hi").text(terminal.Error), "Error: Internal error\nno such model")
}

func TestTheSameErrorTwiceInARowOffersANewConversation(t *testing.T) {
	t.Parallel()
	const offer = "This error has come twice in a row. /new starts a new conversation."
	p := newFixture(t, "").person("a")
	for i, step := range []struct {
		prompt string
		offers bool
	}{{"fail one", false}, {"fail two", false}, {"fail two", true}, {"fail two", true}, {"say fine", false}, {"fail two", false}} {
		if got := p.send(step.prompt).text(terminal.Error); strings.Contains(got, offer) != step.offers {
			t.Errorf("turn %d: %q", i, got)
		}
	}
	p.memory.forget()
	if got := p.send("fail two").text(terminal.Error); strings.Contains(got, offer) {
		t.Errorf("in a new conversation: %q", got)
	}
}
