package runbook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
)

func TestAChallengeIsCreatedFromItsDefinition(t *testing.T) {
	for definition, want := range map[string]string{
		`{"shell":{"cmd":"make"}}`:                                             `{"type":"shell","description":"Execute shell command: make","shell":{"cmd":"make","timeout_seconds":30}`,
		`{"type":"shell","shell":{"cmd":"a && b","timeout_seconds":0}}`:        `{"type":"shell","description":"Execute shell command: a && b","shell":{"cmd":"a && b","timeout_seconds":30}`,
		`{"type":"shell","shell":{"cmd":"a","timeout_seconds":90}}`:            `{"type":"shell","description":"Execute shell command: a","shell":{"cmd":"a","timeout_seconds":90}`,
		`{"type":"mcp","mcp":{"tool_name":"t"}}`:                               `{"type":"mcp","description":"Call MCP tool: t","mcp":{"tool_name":"t"}`,
		`{"type":"mcp","mcp":{"tool_name":"t","expected_result":{"ok":true}}}`: `{"type":"mcp","description":"Call MCP tool: t","mcp":{"tool_name":"t","expected_result":{"ok":true}}`,
		`{"type":"user_input"}`:                                                `{"type":"user_input","description":"User confirmation: Confirm completion","user_input":{"prompt":"Confirm completion"}`,
		`{"type":"user_input","user_input":{"prompt":"Go?","approvals":2}}`:    `{"type":"user_input","description":"User confirmation: Go?","user_input":{"prompt":"Go?","approvals":2}`,
		`{"type":"comment"}`:                                                   `{"type":"comment","description":"Provide a verification comment (minimum 10 characters)","comment":{"min_length":10}`,
		`{"type":"comment","comment":{"min_length":0}}`:                        `{"type":"comment","description":"Provide a verification comment (minimum 10 characters)","comment":{"min_length":10}`,
		`{"type":"comment","comment":{"min_length":50}}`:                       `{"type":"comment","description":"Provide a verification comment (minimum 50 characters)","comment":{"min_length":50}`,
		"": `{"type":"comment","description":"Provide a verification comment describing how you completed this step"`,
	} {
		g := begin(t, "# B\n"+section("One", definition)+section("Two", commentChallenge))
		c := g.first.Challenge
		want += fmt.Sprintf(`,"nonce":%q,"proof_hash":%q}`, c.Nonce, "aeebad4a796fcc2e15dc4c6061b45ed9b373f26adfc798ca7d2d8cc58182718e")
		if got := asJSON(c); got != want || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(c.Nonce) {
			t.Errorf("%s\nbecame %s\n  want %s", definition, got, want)
		}
	}
}

func TestARunBeginsWithItsFirstStep(t *testing.T) {
	g := begin(t, deploy)
	want := fmt.Sprintf(`{"must_obey":true,"current_step":{"uri":%q,"content":"Text of Build.","mimeType":"text/markdown"},"challenge":%s,`+
		`"next_action":"call kairos_next with %s and solution matching challenge","run":%q}`, g.uri(1), asJSON(g.first.Challenge), g.uri(1), g.run.ID)
	if got := asJSON(g.first); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	redirected := beginAs(t, runbook.Start{Runbook: parse(t, deploy), Step: 3})
	if a := redirected.first; a.Message != "Redirected to step 1 of this protocol chain." || a.CurrentStep.URI != g.uri(1) {
		t.Errorf("from another step: %s", asJSON(a))
	}
	if g := begin(t, "# B\n## Only a challenge\n"+makeTest); g.first.CurrentStep.Content != "Only a challenge" {
		t.Errorf("a step without text shows %q", g.first.CurrentStep.Content)
	}
}

func TestARunIsProvedStepByStep(t *testing.T) {
	g := begin(t, deploy)
	hash := runbook.Genesis
	for step := 1; step <= 4; step++ {
		g.now = g.now.Add(time.Minute)
		a := g.solve()
		if len(g.run.Records) != step || a.ProofHash != g.run.LastHash() || a.ProofHash == hash {
			t.Fatalf("step %d: %s", step, asJSON(a))
		}
		if hash = a.ProofHash; step < 4 && (a.CurrentStep.URI != g.uri(step+1) || a.Challenge.ProofHash != hash || g.run.Status != runbook.Waiting) {
			t.Errorf("step %d: %s", step, asJSON(a))
		}
		if step == 4 && (a.Message != "Protocol completed. No further steps." || a.NextAction != "Run complete." || a.Challenge != nil || !a.MustObey) {
			t.Errorf("at the end: %s", asJSON(a))
		}
	}
	if g.run.Status != runbook.Complete || !g.run.Ended.Equal(g.now) {
		t.Errorf("%s since %s", g.run.Status, g.run.Ended)
	}
	record, err := g.run.Records[1].Parse()
	first := g.run.Records[0]
	if err != nil || strings.Contains(first.Record, "\n") || !strings.Contains(first.Record, "ok <&>") {
		t.Errorf("%v, %s", err, first.Record)
	}
	if record.Previous != first.ProofHash || record.By != "agent" || record.ExecutedAt != "2026-11-16T09:02:00.000Z" || record.Label != "Upload" || record.Status != "success" {
		t.Errorf("the second record: %s", g.run.Records[1].Record)
	}
}

func TestEachCheckAnswersInItsOrder(t *testing.T) {
	without := func(g *fixture, s solution, names ...string) solution {
		s = g.sign(s)
		for _, n := range names {
			delete(s, n)
		}
		return s
	}
	with := func(g *fixture, s solution, name string, value any) solution {
		s = g.sign(s)
		s[name] = value
		return s
	}
	const (
		nonce   = "Nonce mismatch. Use the nonce from the current step challenge."
		failed  = "Proof of work failed. Fix and retry."
		noHash  = "Include proof_hash in solution (use challenge.proof_hash for step 1)."
		badHash = "proof_hash mismatch. Use proof_hash from the previous response or challenge."
		noShell = "Shell proof requires shell field with exit_code"
		noInput = "User input proof requires user_input.confirmation"
		noText  = "Comment proof requires comment.text"
	)
	shell := func(v any) solution { return solution{"shell": v} }
	mcp := func(v any) solution { return solution{"type": "mcp", "mcp": v} }
	input := func(v any) solution { return solution{"type": "user_input", "user_input": v} }
	comment := func(v any) solution { return solution{"type": "comment", "comment": v} }
	for name, c := range map[string]struct {
		step          int
		solution      func(*fixture) solution
		code, message string // "" is accepted
	}{
		"empty":                  {1, func(*fixture) solution { return solution{} }, "NONCE_MISMATCH", nonce},
		"no nonce":               {1, func(g *fixture) solution { return without(g, built, "nonce", "proof_hash", "shell") }, "NONCE_MISMATCH", nonce},
		"another nonce":          {1, func(g *fixture) solution { return with(g, built, "nonce", strings.Repeat("0", 32)) }, "NONCE_MISMATCH", nonce},
		"a nonce that is a list": {1, func(g *fixture) solution { return with(g, built, "nonce", []string{g.run.Issued.Nonce}) }, "NONCE_MISMATCH", nonce},
		"no hash":                {1, func(g *fixture) solution { return without(g, mcp(1), "proof_hash") }, "MISSING_FIELD", noHash},
		"an empty hash":          {1, func(g *fixture) solution { return with(g, built, "proof_hash", "") }, "MISSING_FIELD", noHash},
		"another hash":           {1, func(g *fixture) solution { return with(g, mcp(1), "proof_hash", "x") }, "PROOF_HASH_MISMATCH", badHash},
		"genesis again":          {2, func(g *fixture) solution { return with(g, uploaded, "proof_hash", runbook.Genesis) }, "PROOF_HASH_MISMATCH", badHash},
		"another type":           {1, func(g *fixture) solution { return g.sign(mcp(1)) }, "TYPE_MISMATCH", "Expected proof type: shell, got: mcp"},
		"no type":                {2, func(g *fixture) solution { return g.sign(solution{"mcp": uploaded["mcp"]}) }, "TYPE_MISMATCH", "Expected proof type: mcp, got: shell"},
		"a type that is no text": {2, func(g *fixture) solution { return with(g, uploaded, "type", 7) }, "TYPE_MISMATCH", "Expected proof type: mcp, got: 7"},
		"shell without type":     {1, func(g *fixture) solution { return g.sign(shell(solution{"exit_code": 0.0})) }, "", ""},
		"no shell":               {1, func(g *fixture) solution { return g.sign(solution{}) }, "MISSING_FIELD", noShell},
		"shell is null":          {1, func(g *fixture) solution { return g.sign(shell(nil)) }, "MISSING_FIELD", noShell},
		"exit code 1":            {1, func(g *fixture) solution { return g.sign(shell(solution{"exit_code": 1})) }, "COMMAND_FAILED", failed},
		"exit code as text":      {1, func(g *fixture) solution { return g.sign(shell(solution{"exit_code": "0"})) }, "COMMAND_FAILED", failed},
		"exit code false":        {1, func(g *fixture) solution { return g.sign(shell(solution{"exit_code": false})) }, "COMMAND_FAILED", failed},
		"exit code null":         {1, func(g *fixture) solution { return g.sign(shell(solution{"exit_code": nil})) }, "COMMAND_FAILED", failed},
		"no exit code":           {1, func(g *fixture) solution { return g.sign(shell(solution{})) }, "COMMAND_FAILED", failed},
		"another spelling":       {1, func(g *fixture) solution { return g.sign(shell(solution{"Exit_Code": 0})) }, "COMMAND_FAILED", failed},
		"no mcp":                 {2, func(g *fixture) solution { return g.sign(solution{"type": "mcp"}) }, "MISSING_FIELD", "MCP proof requires mcp field"},
		"another tool":           {2, func(g *fixture) solution { return g.sign(mcp(solution{"tool_name": "x", "success": false})) }, "MCP_TOOL_MISMATCH", "Expected MCP tool: deploy, got: x"},
		"no success":             {2, func(g *fixture) solution { return g.sign(mcp(solution{"tool_name": "deploy"})) }, "COMMAND_FAILED", failed},
		"success as text":        {2, func(g *fixture) solution { return g.sign(mcp(solution{"tool_name": "deploy", "success": "true"})) }, "COMMAND_FAILED", failed},
		"success without result": {2, func(g *fixture) solution { return g.sign(mcp(solution{"tool_name": "deploy", "success": true})) }, "", ""},
		"no user_input":          {3, func(g *fixture) solution { return g.sign(solution{"type": "user_input"}) }, "MISSING_FIELD", noInput},
		"empty confirmation":     {3, func(g *fixture) solution { return g.sign(input(solution{"confirmation": ""})) }, "MISSING_FIELD", noInput},
		"confirmation true":      {3, func(g *fixture) solution { return g.sign(input(solution{"confirmation": true})) }, "MISSING_FIELD", noInput},
		"any confirmation":       {3, func(g *fixture) solution { return g.sign(input(solution{"confirmation": "no"})) }, "", ""},
		"no comment":             {4, func(g *fixture) solution { return g.sign(solution{"type": "comment"}) }, "MISSING_FIELD", noText},
		"empty comment":          {4, func(g *fixture) solution { return g.sign(comment(solution{"text": ""})) }, "MISSING_FIELD", noText},
		"short comment":          {4, func(g *fixture) solution { return g.sign(comment(solution{"text": "äöü狐"})) }, "COMMENT_TOO_SHORT", "Comment must be at least 5 characters"},
		"characters, not bytes":  {4, func(g *fixture) solution { return g.sign(comment(solution{"text": "äöü狐👩"})) }, "", ""},
		"not trimmed":            {4, func(g *fixture) solution { return g.sign(comment(solution{"text": "    a"})) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := begin(t, deploy)
			for g.run.Step < c.step {
				g.solve()
			}
			nonce := g.run.Issued.Nonce
			a := g.send(c.step, c.solution(g))
			if c.code == "" {
				if a.Outcome != runbook.Advanced || a.ErrorCode != "" || g.run.Step != c.step+1 {
					t.Errorf("not accepted: %s", asJSON(a))
				}
				return
			}
			g.checkError(a, c.code, c.message, 1)
			if g.run.Issued.Nonce != nonce || len(g.run.Records) != c.step-1 {
				t.Error("the challenge changed, or the failure left a record")
			}
			if a := g.solve(); g.run.Issued.Failures != 0 || a.RetryCount != nil {
				t.Error("the failures are not forgotten")
			}
		})
	}
}

func TestASolutionIsRequired(t *testing.T) {
	g := begin(t, deploy)
	for _, raw := range []string{"", "null", `"yes"`, "[]"} {
		a := musttest.Get(g.transition(func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
			r.Issued.Failures = 0
			return runbook.Next(r, runbook.Call{URI: g.uri(1), Solution: json.RawMessage(raw)}, env)
		}))(t)
		g.checkErrorAndAction(a, "MISSING_FIELD", "Solution is required for steps 2+. Use kairos_begin for step 1.",
			fmt.Sprintf("retry kairos_next with %s -- include solution matching challenge", g.uri(1)))
	}
}

func TestFromTheThirdFailureTheAgentMayContinueByItsOwnDecision(t *testing.T) {
	g := begin(t, deploy)
	for n := 1; n <= 5; n++ {
		a := g.send(1, g.sign(broken))
		if n < 3 {
			g.checkError(a, "COMMAND_FAILED", "Proof of work failed. Fix and retry.", n)
			continue
		}
		g.checkErrorAndAction(a, "MAX_RETRIES_EXCEEDED", fmt.Sprintf("Step failed %d times. Use your judgment to recover.", n),
			"Options: (1) call kairos_mint with force_update to fix the step for future executions (2) call kairos_attest with "+g.uri(1)+
				" and outcome failure to abort (3) ask the user for help")
		if *a.RetryCount != n || a.Cause != runbook.CommandFailed {
			t.Errorf("retry_count %d because of %s", *a.RetryCount, a.Cause)
		}
	}
	if a := g.solve(); a.CurrentStep.URI != g.uri(2) {
		t.Errorf("a right solution: %s", asJSON(a))
	}
	g.checkError(g.send(2, g.sign(broken)), "TYPE_MISMATCH", "Expected proof type: mcp, got: shell", 1)
}

func TestAChallengeExpiresAfterAnHour(t *testing.T) {
	const message = "Nonce mismatch. Use the nonce from the current step challenge."
	g := begin(t, deploy)
	g.send(1, g.sign(broken))
	g.send(1, g.sign(broken))
	old := g.sign(built)
	g.now = began.Add(time.Hour)
	g.checkError(g.send(1, old), "NONCE_MISMATCH", message, 1)
	if g.run.Issued.Nonce == old["nonce"] {
		t.Error("there is no new challenge")
	}
	g.checkError(g.send(1, old), "NONCE_MISMATCH", message, 2)
	g.now = g.now.Add(time.Hour - 1)
	g.solve()

	g = begin(t, deploy)
	g.now = began.Add(time.Hour - 1)
	g.solve()
}

func TestAnOptionalStepIsRecordedAsFailed(t *testing.T) {
	optional := func(challenge string) string { return strings.TrimSuffix(challenge, "}") + `,"required":false}` }
	for name, c := range map[string]struct {
		challenge string
		bad       solution
		wrong     solution
		code      string
	}{
		"shell": {optional(buildChallenge), broken, solution{"type": "shell"}, "MISSING_FIELD"},
		"mcp": {
			optional(mintChallenge),
			solution{"type": "mcp", "mcp": solution{"tool_name": "deploy", "success": false}},
			solution{"type": "mcp", "mcp": solution{"tool_name": "x"}},
			"MCP_TOOL_MISMATCH",
		},
	} {
		g := begin(t, "# B\n"+section("One", c.challenge)+section("Two", commentChallenge))
		if a := g.send(1, g.sign(c.wrong)); a.ErrorCode != c.code {
			t.Errorf("%s: %s", name, asJSON(a))
		}
		a := g.send(1, g.sign(c.bad))
		record, _ := g.run.Records[0].Parse()
		if a.ErrorCode != "" || a.ProofHash == "" || a.CurrentStep.URI != g.uri(2) || record.Status != "failed" || record.Required {
			t.Errorf("%s: %s, %+v", name, asJSON(a), record)
		}
		g.solveAll()
		if _, err := g.run.Verify(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheURIMayBeThatOfTheStepAfter(t *testing.T) {
	g := begin(t, deploy)
	call := g.sign(built)
	if a := g.send(2, call); a.Outcome != runbook.Advanced || a.CurrentStep.URI != g.uri(2) {
		t.Fatalf("%s", asJSON(a))
	}
	if a := g.send(2, call); a.Outcome != runbook.Repeated || a.ProofHash != g.run.LastHash() || len(g.run.Records) != 1 {
		t.Errorf("the same call again: %s", asJSON(a))
	}
	old := g.sign(uploaded)
	old["nonce"] = call["nonce"]
	g.checkError(g.send(2, old), "NONCE_MISMATCH", "Nonce mismatch. Use the nonce from the current step challenge.", 1)
}

func TestAStepFurtherOnMissesAProof(t *testing.T) {
	g := begin(t, deploy)
	for step, want := range []string{
		`Proof of work missing for Build. Execute "make" and report the result before continuing.`,
		`Proof of work missing for Upload. Complete the required mcp verification before continuing.`,
	} {
		a := g.send(step+3, g.sign(built))
		g.checkErrorAndAction(a, "MISSING_PROOF", want, fmt.Sprintf("retry kairos_next with %s -- complete previous step first", g.uri(step+1)))
		if *a.RetryCount != 0 {
			t.Error("it counts as a failure")
		}
		g.solve()
	}
}

func TestAnAcceptedSolutionCanBeSentAgain(t *testing.T) {
	g := begin(t, deploy)
	first := g.sign(built)
	g.send(1, first)
	hash := g.run.LastHash()
	for range 3 {
		state := g.run.Encode()
		a := g.send(1, first)
		if a.ProofHash != hash || a.CurrentStep.URI != g.uri(g.run.Step) || a.Challenge.Nonce != g.run.Issued.Nonce || a.ErrorCode != "" || g.run.Encode() != state {
			t.Fatalf("%s", asJSON(a))
		}
		g.solve()
	}
	if a := g.send(1, first); a.ProofHash != hash || a.Message != "Protocol completed. No further steps." {
		t.Errorf("at the end: %s", asJSON(a))
	}
	g.now = g.now.Add(3 * time.Hour)
	if a := g.send(1, first); a.ProofHash != hash {
		t.Errorf("later: %s", asJSON(a))
	}
}

func TestAnEarlierStepWithAnotherNonceIsAMismatch(t *testing.T) {
	const message = "Nonce mismatch. Use the nonce from the current step challenge."
	g := begin(t, deploy)
	g.solve()
	g.solve()
	g.checkError(g.send(1, g.sign(built)), "NONCE_MISMATCH", message, 1)
	g.checkError(g.send(1, nil), "NONCE_MISMATCH", message, 2)
	if len(g.run.Records) != 2 {
		t.Error("something was recorded")
	}
	g.solveAll()
	if a := g.send(4, solution{"nonce": "x"}); a.ErrorCode != "NONCE_MISMATCH" || a.NextAction != "Run complete." || g.run.Status != runbook.Complete {
		t.Errorf("of a run that is complete: %s", asJSON(a))
	}
}

func TestAStepWithoutAChallengeAcceptsAnything(t *testing.T) {
	text := "# B\n" + section("Read", "") + section("Build", buildChallenge) + section("Think", "") + section("Rest", "")
	for name, s := range map[string]solution{"nothing": nil, "an empty one": {}, "a wrong one": {"nonce": "x", "type": "shell"}} {
		g := begin(t, text)
		if a := g.send(1, s); a.ErrorCode != "" || a.ProofHash != "" || a.CurrentStep.URI != g.uri(2) || len(g.run.Records) != 0 || a.Challenge.ProofHash != runbook.Genesis {
			t.Errorf("%s: %s", name, asJSON(a))
		}
		g.solve()
		a := g.send(3, s)
		if a.ErrorCode != "" || a.ProofHash != "" || a.CurrentStep.URI != g.uri(4) || a.NextAction != "Run complete." || g.run.Status != runbook.Complete {
			t.Errorf("%s, before the last: %s", name, asJSON(a))
		}
		for range 2 {
			if a := g.send(4, s); a.Message != "Protocol completed. No further steps." || a.ErrorCode != "" || len(g.run.Records) != 1 {
				t.Errorf("%s, on the last: %s", name, asJSON(a))
			}
		}
		if _, err := g.run.Verify(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if g := begin(t, "# B\nText"); g.first.NextAction != "Run complete." || g.run.Status != runbook.Complete {
		t.Errorf("one step: %s", asJSON(g.first))
	}
}

func TestTwoRunsOfOneRunbookShareNothing(t *testing.T) {
	a := begin(t, deploy)
	b := &fixture{t: t, now: began, count: 9999}
	b.run, b.first = runbook.Begin(runbook.Start{Runbook: parse(t, deploy), Source: source}, b.env())
	if a.run.ID == b.run.ID || a.first.Challenge.Nonce == b.first.Challenge.Nonce {
		t.Fatal("they have the same ID or nonce")
	}
	foreign := b.sign(built)
	a.checkError(a.send(1, foreign), "NONCE_MISMATCH", "Nonce mismatch. Use the nonce from the current step challenge.", 1)
	a.solve()
	if b.run.Step != 1 || b.run.Issued.Failures != 0 || len(b.run.Records) != 0 {
		t.Error("the other run went on")
	}
	b.send(1, foreign)
	a.checkError(a.send(1, foreign), "NONCE_MISMATCH", "Nonce mismatch. Use the nonce from the current step challenge.", 1)
	a.solveAll()
	b.solveAll()
	if a.run.LastHash() == b.run.LastHash() {
		t.Error("they have the same records")
	}
}

func TestTransitionsOfOneStateAreIndependent(t *testing.T) {
	g := begin(t, deploy)
	g.solve()
	g.solve()
	g.solve() // the slices of the run now have room for more
	call := runbook.Call{URI: g.uri(4), Solution: json.RawMessage(asJSON(g.sign(reported)))}
	a, _, _ := runbook.Next(g.run, call, g.env())
	state := a.Encode()
	call.By = "net:7"
	if b, _, _ := runbook.Next(g.run, call, runbook.Env{Now: g.now.Add(time.Minute)}); b.LastHash() == a.LastHash() || a.Encode() != state {
		t.Error("the second transition changed the result of the first one")
	}
}

func TestARunThatCannotAnswerSaysWhy(t *testing.T) {
	g := begin(t, deploy)
	other := runbook.WorkspaceSource("other").StepURI(1)
	if _, _, err := runbook.Next(g.run, runbook.Call{URI: other}, g.env()); !errors.Is(err, runbook.ErrUnknownURI) {
		t.Errorf("a URI of another runbook: %v", err)
	}
	ended, err := runbook.Abort(g.run, "cli:me", "enough", g.env())
	if err != nil || ended.Status != runbook.Failed || ended.Reason != "enough" || ended.EndedBy != "cli:me" {
		t.Errorf("%v, %+v", err, ended)
	}
	if _, _, err := runbook.Next(ended, runbook.Call{URI: g.uri(1)}, g.env()); !errors.Is(err, runbook.ErrEnded) || !strings.Contains(err.Error(), "kairos_begin") {
		t.Errorf("a run that was aborted: %v", err)
	}
	if _, err := runbook.Abort(ended, "cli:me", "again", g.env()); !errors.Is(err, runbook.ErrEnded) {
		t.Errorf("aborted twice: %v", err)
	}
}

func TestURIsAreStableAndTellStepsApart(t *testing.T) {
	if got := source.StepURI(1); got != "kairos://mem/15f285c9-a534-8ace-8678-facd66fd75cf" || !runbook.IsURI(got) {
		t.Errorf("the URI is now %s", got)
	}
	seen := map[string]bool{}
	for _, s := range []runbook.Source{source, runbook.WorkspaceSource("b"), runbook.SharedSource("deploy"), runbook.SharedSource("b"), runbook.MintedSource("", "deploy"), runbook.MintedSource("net:1", "deploy")} {
		for i := 1; i <= 20; i++ {
			uri := s.StepURI(i)
			if seen[uri] || s.StepIndex(strings.ToUpper(uri[len("kairos://mem/"):]), 20) != 0 || s.StepIndex(uri, 20) != i || s.StepIndex(uri, i-1) != 0 {
				t.Errorf("%s of %s", uri, s)
			}
			seen[uri] = true
		}
	}
	for _, bad := range []string{"", "kairos://mem/", "kairos://mem/1234", "http://mem/" + source.StepUUID(1), source.StepURI(1) + "0"} {
		if runbook.IsURI(bad) {
			t.Errorf("%q is a URI", bad)
		}
	}
}
