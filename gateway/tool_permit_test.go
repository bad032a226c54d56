package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"nanobot/gateway/audit"
	"nanobot/gateway/runbook"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// beginMinted stores a runbook with one command and begins a run of it. It returns the arguments
// that report the command as successful.
func (c *agentProcess) beginMinted(command string) map[string]any {
	c.t.Helper()
	doc := fmt.Sprintf("# Mine\n\n## Do\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":%q}}}\n```\n", command)
	if got := c.callForJSON("kairos_mint", map[string]any{"markdown_doc": doc, "force_update": true}); !strings.Contains(got, "stored") {
		c.t.Fatal(got)
	}
	begun := c.callTool("kairos_begin", map[string]any{"uri": runbook.MintedSource("net:1", "Mine").StepURI(1)})
	return map[string]any{"uri": begun.CurrentStep.URI, "run": begun.Run, "solution": map[string]any{
		"type": runbook.Shell, "nonce": begun.Challenge.Nonce, "proof_hash": begun.Challenge.ProofHash, runbook.Shell: map[string]any{"exit_code": 0},
	}}
}

// TestACommandThatAnAgentWroteRunsOnlyIfAnApproverPermitsIt has an agent of a running turn report a
// command of its own runbook.
func TestACommandThatAnAgentWroteRunsOnlyIfAnApproverPermitsIt(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "true", nil)
	protocol := clockProtocol{make(chan context.Context, 1), make(chan struct{})}
	fx.protocol, fx.terminal.Timeout, fx.settings.Runbooks.CheckShell = protocol, 3600, true
	fx.agent.Approvers = []string{"net:bob"}
	fx.start()
	defer close(protocol.end)
	c := fx.connectTools()
	run := c.beginMinted("echo a\u202eb > ran")
	// Before the first message nobody can be asked.
	if got := c.callForJSON("kairos_next", run); !strings.Contains(got, "ELICITATION_FAILED") {
		t.Fatalf("before the first message the agent was told %s", got)
	}
	fx.net.UserWrites("1", "ann", "ship it")
	<-protocol.turns

	answer := c.startProof(run)
	question := fx.awaitText("1", "May nanobot run this command")
	if !strings.Contains(question.Text, "echo a<U+202E>b > ran") || !strings.Contains(question.Text, "`Mine`") {
		t.Errorf("the question is %q", question.Text)
	}
	fx.pressButton("ann", question, 0)
	fx.awaitText("1", "Only approvers can decide this.")
	fx.pressButton("bob", question, 1)
	if got := answer(); !strings.Contains(got, runbook.UserDeclined) {
		t.Errorf("the agent was told %s", got)
	}
	if fx.workspaceFile("ran") != "" {
		t.Fatal("the command was executed")
	}

	answer = c.startProof(c.beginMinted("echo seen > allowed"))
	fx.pressButton("bob", fx.awaitText("1", "echo seen > allowed"), 0)
	if got := answer(); !strings.Contains(got, `"proof_hash"`) || strings.Contains(got, "error") {
		t.Errorf("the agent was told %s", got)
	}
	wanttest.Equal(t, "the command wrote", fx.workspaceFile("allowed"), "seen\n")
}

func TestAPermittedCommandIsShownAsAWholeAndAudited(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var decisions []string
	fx := newRunbookFixture(t, "true", nil)
	fx.audit = func(rec audit.Record) {
		mu.Lock()
		defer mu.Unlock()
		if rec.Event == audit.Decided {
			decisions = append(decisions, rec.Title)
		}
	}
	protocol := clockProtocol{make(chan context.Context, 1), make(chan struct{})}
	fx.protocol, fx.terminal.Timeout, fx.settings.Runbooks.CheckShell = protocol, 3600, true
	fx.start()
	defer close(protocol.end)
	c := fx.connectTools()
	fx.net.UserWrites("1", "ann", "ship it")
	<-protocol.turns
	for name, test := range map[string]struct {
		command, shown string
		button         int
		decision       string
	}{
		"behind blanks": {"echo a" + strings.Repeat(" ", 1400) + "; echo evil > ran", "echo a (1400 blank characters) ; echo evil > ran", 1, "refused"},
		"long":          {"echo seen > allowed #" + strings.Repeat("x", 3000) + "end", "xend\n```", 0, "approved"},
	} {
		answer := c.startProof(c.beginMinted(test.command))
		question := fx.awaitText("1", test.shown)
		var documents []string
		for _, call := range fx.net.Sent("1") {
			documents = append(documents, call.Files["command.txt"])
		}
		if !slices.Contains(documents, test.command) {
			t.Errorf("%s: the documents are %.300q", name, documents)
		}
		fx.pressButton("ann", question, test.button)
		answer()
		mu.Lock()
		if want := "runbook command: " + test.decision + " by user ann: " + terminal.AuditQuote(test.command); !slices.Contains(decisions, want) {
			t.Errorf("%s: the audit log has %.300q", name, decisions)
		}
		mu.Unlock()
	}
	if fx.workspaceFile("ran") != "" || fx.workspaceFile("allowed") != "seen\n" {
		t.Error("another command was executed")
	}
}
