package acp_test

import (
	"strings"
	"testing"

	"nanobot/terminal"
)

// TestEachPlaceOfAChatHasItsConversation switches between places. A process with the folder of one
// place is not used in another.
func TestEachPlaceOfAChatHasItsConversation(t *testing.T) {
	t.Parallel()
	d := newFixture(t, "-resume -list", allowAll)
	p := d.person("a")
	own, x := terminal.Place{}, terminal.Place{Workspace: "projects/x"}
	p.send("env PWD\nrun pwd").expect(terminal.Done, "PWD="+d.workspace+d.workspace+"\n(exit 0)")
	p.place = x
	folder := d.workspace + "/projects/x"
	h := p.send("history\nenv PWD\nrun pwd").expect(terminal.Done, "prompts so far: 1PWD="+folder+folder+"\n(exit 0)")
	if strings.Contains(h.text(terminal.Message), newSessionNotice) {
		t.Errorf("said %q", h.text(terminal.Message))
	}
	p.place = own
	p.send("history\nenv PWD").expect(terminal.Done, "prompts so far: 2PWD="+d.workspace)
	d.restart()
	p.place = x
	p.send("history").expect(terminal.Done, "prompts so far: 2")
	p.place = own
	p.send("history").expect(terminal.Done, "prompts so far: 3")
	if sessions := p.send("/sessions").text(terminal.Message); !strings.Contains(sessions, "1. ") || strings.Contains(sessions, "2. ") {
		t.Errorf("the sessions are:\n%s", sessions)
	}
}
