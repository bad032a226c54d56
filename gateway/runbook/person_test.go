package runbook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
)

func (g *fixture) prove(p runbook.Proof) (runbook.Answer, error) {
	g.t.Helper()
	return g.transition(func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
		return runbook.Prove(r, p, env)
	})
}

func (g *fixture) approve(a runbook.Approval) (runbook.Answer, error) {
	g.t.Helper()
	return g.transition(func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
		return runbook.Approve(r, a, env)
	})
}

func (g *fixture) decline(d runbook.Refusal) (runbook.Answer, error) {
	g.t.Helper()
	return g.transition(func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
		return runbook.Decline(r, d, env)
	})
}

func (g *fixture) skip(s runbook.SkipDecision) (runbook.Answer, error) {
	g.t.Helper()
	return g.transition(func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
		return runbook.Skip(r, s, env)
	})
}

func (g *fixture) lastRecord() runbook.Record {
	g.t.Helper()
	if len(g.run.Records) == 0 {
		g.t.Fatal("nothing is recorded")
	}
	r := musttest.Get(g.run.Records[len(g.run.Records)-1].Parse())(g.t)
	return r
}

// inChat begins a run that belongs to a chat.
func inChat(t *testing.T, text string) *fixture {
	return beginAs(t, runbook.Start{Runbook: parse(t, text), By: "net:7", Chat: "net:1"})
}

func TestTheGatewayAndPeopleProveSteps(t *testing.T) {
	g := inChat(t, deploy)
	shell := runbook.Proof{Step: 1, By: runbook.ByGateway, Type: runbook.Shell}
	shell.Value = runbook.ShellProof{ExitCode: 3, Stderr: "no"}
	a, err := g.prove(shell)
	if err != nil || a.ErrorCode != "COMMAND_FAILED" || g.run.Issued.Failures != 1 {
		t.Fatalf("%v, %s", err, asJSON(a))
	}
	nonce := g.run.Issued.Nonce
	g.now = g.now.Add(2 * time.Hour) // a command may take longer than a nonce is good
	shell.Value = runbook.ShellProof{Stdout: "<ok>", DurationSeconds: 1.5}
	if a, err = g.prove(shell); err != nil || a.ProofHash == "" || a.CurrentStep.URI != g.uri(2) {
		t.Fatalf("%v, %s", err, asJSON(a))
	}
	if r := g.lastRecord(); r.By != "gateway" || r.Nonce != nonce || string(r.Shell) != `{"exit_code":0,"stdout":"<ok>","stderr":"","duration_seconds":1.5}` {
		t.Errorf("%+v", r)
	}
	if _, err := g.prove(shell); !errors.Is(err, runbook.ErrStale) {
		t.Errorf("the same again: %v", err)
	}
	if a, err = g.prove(runbook.Proof{Step: 2, By: "agent", Type: runbook.MCP, Value: runbook.MCPProof{Tool: "deploy", Success: true}}); err != nil || a.Outcome != runbook.Advanced {
		t.Errorf("%v, %s", err, asJSON(a))
	}
	if _, err = g.prove(runbook.Proof{Step: 3, By: "gateway", Type: runbook.UserInput, Value: map[string]string{"confirmation": "yes"}}); !errors.Is(err, runbook.ErrNotRequired) {
		t.Errorf("the gateway approved: %v", err)
	}
	if a, err = g.approve(runbook.Approval{Step: 3, By: "net:7"}); err != nil || a.Outcome != runbook.Advanced {
		t.Fatalf("%v, %s", err, asJSON(a))
	}
	if r := g.lastRecord(); r.By != "net:7" || string(r.UserInput) != `{"confirmation":"approved","timestamp":"2026-11-16T11:00:00.000Z"}` {
		t.Errorf("%+v", r)
	}
	if _, err = g.approve(runbook.Approval{Step: 4, By: "net:7"}); !errors.Is(err, runbook.ErrNotRequired) {
		t.Errorf("a comment was approved: %v", err)
	}
	if a, err = g.prove(runbook.Proof{Step: 4, By: "net:7", Type: runbook.Comment, Value: runbook.CommentProof{Text: "all is well"}}); err != nil || a.NextAction != "Run complete." {
		t.Errorf("%v, %s", err, asJSON(a))
	}
	if _, err := g.prove(runbook.Proof{Step: 5}); !errors.Is(err, runbook.ErrStale) {
		t.Errorf("behind the end: %v", err)
	}
	if last, err := g.run.Verify(); err != nil || last != g.run.LastHash() {
		t.Errorf("%v, %s", err, last)
	}
}

func TestProofsOfAnotherTypeFail(t *testing.T) {
	g := begin(t, deploy)
	a, err := g.prove(runbook.Proof{Step: 1, By: "gateway", Type: runbook.Comment, Value: runbook.CommentProof{Text: "x"}})
	if err != nil || a.ErrorCode != "TYPE_MISMATCH" {
		t.Errorf("%v, %s", err, asJSON(a))
	}
	if _, err := g.prove(runbook.Proof{Step: 1, Type: runbook.Shell, Value: make(chan int)}); err == nil {
		t.Error("a value that is no JSON was accepted")
	}
	for depth := 9995; depth <= 10001; depth++ { // encoding/json reads and writes 10,000 levels
		deep := json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		s := begin(t, "# B\n"+section("Upload", mintChallenge))
		if a, err := s.prove(runbook.Proof{Step: 1, By: "agent", Type: runbook.MCP, Value: runbook.MCPProof{Tool: "deploy", Result: deep, Success: true}}); err == nil && a.Outcome != runbook.Advanced {
			t.Errorf("%d levels: %s", depth, asJSON(a))
		}
		raw := fmt.Sprintf(`{"type":"mcp","nonce":%q,"proof_hash":%q,"mcp":{"tool_name":"deploy","success":true,"result":%s}}`, s.run.Issued.Nonce, s.run.LastHash(), deep)
		runbook.Next(s.run, runbook.Call{URI: s.uri(1), Solution: json.RawMessage(raw)}, s.env())
	}
	g = begin(t, "# B\n"+section("Read", "")+section("Build", buildChallenge))
	if a, err := g.prove(runbook.Proof{Step: 1}); err != nil || a.CurrentStep.URI != g.uri(2) || len(g.run.Records) > 0 {
		t.Errorf("a step without a challenge: %v, %s", err, asJSON(a))
	}
}

func TestInAChatAnAgentCannotApprove(t *testing.T) {
	g := inChat(t, "# B\n"+section("Ask", approveChallenge)+section("Build", buildChallenge))
	state, call := g.run.Encode(), g.sign(approved)
	a := g.send(1, call)
	if a.Outcome != runbook.NeedsPerson || a.ErrorCode != "" || g.run.Encode() != state {
		t.Fatalf("%s", asJSON(a))
	}
	g.checkError(g.send(1, g.sign(solution{"type": "user_input"})), "MISSING_FIELD", "User input proof requires user_input.confirmation", 1)
	wrong := g.sign(approved)
	wrong["nonce"] = "x"
	g.checkError(g.send(1, wrong), "NONCE_MISMATCH", "Nonce mismatch. Use the nonce from the current step challenge.", 2)
	g.now = g.now.Add(3 * time.Hour)
	musttest.Get(g.approve(runbook.Approval{Step: 1, By: "net:7"}))(t)
	if a := g.send(1, call); a.Outcome != runbook.Repeated || a.ProofHash != g.run.LastHash() || g.lastRecord().By != "net:7" {
		t.Errorf("after the approval: %s", asJSON(a))
	}
}

func TestAnAnswerSaysWhetherOnlyTheConfirmationIsMissing(t *testing.T) {
	g := begin(t, "# B\n"+section("Ask", approveChallenge))
	a := g.send(1, g.sign(solution{"type": "user_input"}))
	if g.checkError(a, "MISSING_FIELD", "User input proof requires user_input.confirmation", 1); a.Outcome != runbook.NeedsConfirmation {
		t.Errorf("outcome %d", a.Outcome)
	}
	if a := g.send(1, solution{"type": "user_input"}); a.Outcome != runbook.Refused {
		t.Errorf("without the nonce: outcome %d", a.Outcome)
	}
}

func TestARefusalCountsAndMayEndTheRun(t *testing.T) {
	text := "# B\n" + section("Ask", approveChallenge)
	for want, d := range map[string]runbook.Refusal{
		"USER_DECLINED: User declined confirmation.":        {Step: 1, By: "net:7"},
		"USER_DECLINED: User cancelled or did not confirm.": {Step: 1, Cancelled: true},
		"ELICITATION_FAILED: the client cannot ask":         {Step: 1, NotAskedReason: "the client cannot ask"},
	} {
		g := begin(t, text)
		a := musttest.Get(g.decline(d))(t)
		code, message, _ := strings.Cut(want, ": ")
		g.checkError(a, code, message, 1)
		if g.run.Status != runbook.Waiting {
			t.Errorf("%s: %s", want, g.run.Status)
		}
	}
	g := inChat(t, text)
	a, err := g.decline(runbook.Refusal{Step: 1, By: "net:7", End: true})
	if err != nil || a.ErrorCode != "USER_DECLINED" || a.Message != "User declined confirmation." || g.run.Status != runbook.Declined || g.run.EndedBy != "net:7" {
		t.Errorf("%v, %s, %+v", err, asJSON(a), g.run)
	}
	if _, err := g.approve(runbook.Approval{Step: 1, By: "net:8"}); !errors.Is(err, runbook.ErrEnded) || len(g.run.Records) > 0 {
		t.Errorf("approved after it was declined: %v", err)
	}
}

func TestTwoPeopleApprove(t *testing.T) {
	const both = `{"type":"user_input","user_input":{"prompt":"Go?","approvals":2}}`
	g := inChat(t, "# B\n"+section("Ask", both)+section("Build", buildChallenge))
	for range 2 { // the same person twice is one person
		a, err := g.approve(runbook.Approval{Step: 1, By: "net:7"})
		if err != nil || a.Outcome != runbook.NeedsApproval || a.Message != "1 of 2 approvals." || len(g.run.Records) > 0 {
			t.Fatalf("%v, %s", err, asJSON(a))
		}
	}
	g.now = g.now.Add(5 * time.Hour)
	a, err := g.approve(runbook.Approval{Step: 1, By: "web:8", Confirmation: "fine"})
	if err != nil || a.Outcome != runbook.Advanced || a.CurrentStep.URI != g.uri(2) {
		t.Fatalf("%v, %s", err, asJSON(a))
	}
	const want = `{"confirmation":"fine","timestamp":"2026-11-16T14:00:00.000Z","approvals":[` +
		`{"by":"net:7","confirmation":"approved","timestamp":"2026-11-16T09:00:00.000Z"},{"by":"web:8","confirmation":"fine","timestamp":"2026-11-16T14:00:00.000Z"}]}`
	if r := g.lastRecord(); string(r.UserInput) != want || r.By != "web:8" {
		t.Errorf("%s by %s", r.UserInput, r.By)
	}
	if len(g.run.Approvals) > 0 {
		t.Error("the approvals count for the next step, too")
	}

	g = inChat(t, "# B\n"+section("Ask", both))
	g.approve(runbook.Approval{Step: 1, By: "net:7"})
	for _, nobody := range []runbook.Refusal{{Step: 1, By: "agent", Cancelled: true}, {Step: 1, By: "agent", NotAskedReason: "the disk is full"}} {
		if g.decline(nobody); len(g.run.Approvals) != 1 {
			t.Fatalf("an approval is lost that nobody has withdrawn: %+v", nobody)
		}
	}
	g.decline(runbook.Refusal{Step: 1, By: "net:8"})
	if a, _ := g.approve(runbook.Approval{Step: 1, By: "net:8"}); a.Outcome != runbook.NeedsApproval {
		t.Errorf("approvals before a refusal count: %s", asJSON(a))
	}

	g = begin(t, "# B\n"+section("Ask", both))
	g.checkError(g.send(1, g.sign(approved)), "ELICITATION_FAILED", "This step needs the approval of 2 people.", 1)
}

func TestAPersonSkipsAStepAfterTheThirdFailure(t *testing.T) {
	g := inChat(t, deploy)
	skipping := runbook.SkipDecision{Step: 1, By: "net:7", Reason: "the machine is gone"}
	for range 3 {
		if _, err := g.skip(skipping); err == nil || g.run.CanSkip() {
			t.Fatal("skipped too soon")
		}
		g.send(1, g.sign(broken))
	}
	for _, bad := range []runbook.SkipDecision{{Step: 1, By: "net:7"}, {Step: 1, By: "agent", Reason: "x"}, {Step: 1, Reason: "x"}, {Step: 2, By: "net:7", Reason: "x"}} {
		if _, err := g.skip(bad); err == nil {
			t.Errorf("skipped: %+v", bad)
		}
	}
	g.now = g.now.Add(2 * time.Hour) // a person may think longer than a nonce is good
	a, err := g.skip(skipping)
	if err != nil || a.CurrentStep.URI != g.uri(2) || a.ProofHash != g.run.LastHash() {
		t.Fatalf("%v, %s", err, asJSON(a))
	}
	if r := g.lastRecord(); r.Status != "skipped" || r.By != "net:7" || r.Reason != "the machine is gone" || r.Shell != nil {
		t.Errorf("%+v", r)
	}
	g.now = g.now.Add(time.Second)
	g.solve()
	musttest.Get(g.approve(runbook.Approval{Step: 3, By: "net:7"}))(t)
	g.solve()
	if _, err := g.run.Verify(); err != nil {
		t.Error(err)
	}
}

func TestAGateOfAChatIsNeverSkipped(t *testing.T) {
	text := "# B\n" + section("Ask", `{"type":"user_input","user_input":{"approvals":2}}`)
	skipping := runbook.SkipDecision{Step: 1, By: "net:7", Reason: "the agent has failed"}
	g := inChat(t, text)
	for range 5 { // by an agent
		g.send(1, g.sign(solution{"type": "user_input"}))
	}
	if _, err := g.skip(skipping); !errors.Is(err, runbook.ErrPeopleOnly) || g.run.CanSkip() {
		t.Errorf("%v, it can be skipped: %v", err, g.run.CanSkip())
	}
	g = begin(t, text) // for which no people of a chat can be asked
	for range 3 {
		g.send(1, g.sign(approved))
	}
	if a, err := g.skip(skipping); err != nil || a.Outcome != runbook.Advanced {
		t.Errorf("%v, %s", err, asJSON(a))
	}
}

func TestAStepThatAsksForNoProofCannotBeSkipped(t *testing.T) {
	g := begin(t, "# B\n"+section("Build", buildChallenge)+section("Read", "")+section("End", commentChallenge))
	g.solve()
	for range 3 {
		g.send(1, solution{"nonce": "x"})
	}
	if _, err := g.skip(runbook.SkipDecision{Step: 2, By: "net:7", Reason: "x"}); !errors.Is(err, runbook.ErrNotRequired) {
		t.Errorf("%v", err)
	}
	if _, err := g.decline(runbook.Refusal{Step: 2}); !errors.Is(err, runbook.ErrNotRequired) {
		t.Errorf("%v", err)
	}
}

func TestShowIssuesANewChallengeOnlyWhenTheOldOneHasExpired(t *testing.T) {
	g := begin(t, deploy)
	show := func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
		r, a := runbook.Show(r, env)
		return r, a, nil
	}
	if a, _ := g.transition(show); !reflect.DeepEqual(a, g.first) {
		t.Errorf("%s\nat first %s", asJSON(a), asJSON(g.first))
	}
	g.now = g.now.Add(time.Hour)
	if a, _ := g.transition(show); a.Challenge.Nonce == g.first.Challenge.Nonce {
		t.Error("the nonce is the old one")
	}
	g.solve()
}

func TestAttestRatesARun(t *testing.T) {
	rate := func(g *fixture, outcome, message string) (runbook.Attested, error) {
		r, a, err := runbook.Attest(g.run, runbook.Rating{URI: g.uri(1), Outcome: outcome, Message: message, QualityBonus: 0.5}, g.env())
		g.run = load(t, r)
		return a, err
	}
	g := begin(t, deploy)
	g.solve()
	a, err := rate(g, "success", "well")
	if err != nil || a.TotalFailed != 1 || a.TotalRated != 0 || g.run.Status != runbook.Waiting || !strings.Contains(a.Results[0].Message, "step 2, Upload") {
		t.Errorf("unproved: %v, %+v", err, a)
	}
	a, err = rate(g, "failure", "gave up")
	if err != nil || a.TotalFailed != 0 || a.TotalRated != 1 || g.run.Status != runbook.Failed || g.run.Reason != "gave up" {
		t.Errorf("failure: %v, %+v, %+v", err, a, g.run)
	}
	g = begin(t, deploy)
	g.solveAll()
	a, err = rate(g, "success", "well")
	const want = `{"results":[{"uri":"URI","outcome":"success","quality_bonus":0.5,"message":"well","rated_at":"2026-11-16T09:00:00Z"}],"total_rated":1,"total_failed":0}`
	if got := strings.ReplaceAll(asJSON(a), g.uri(1), "URI"); err != nil || got != want || g.run.Rating == nil {
		t.Errorf("%v, %s", err, got)
	}
	if _, err := rate(g, "failure", "no, badly"); err != nil || g.run.Status != runbook.Complete {
		t.Errorf("a run that is complete: %v, %s", err, g.run.Status)
	}
	g = begin(t, "# B\n"+section("Build", buildChallenge)+section("Read", "")+section("Rest", ""))
	g.solve()
	if a, _ := rate(g, "success", "well"); a.TotalRated != 1 || g.run.Status != runbook.Complete {
		t.Errorf("nothing is left to prove: %+v, %s", a, g.run.Status)
	}
	for _, bad := range [][2]string{{"success", ""}, {"well", "x"}, {"", "x"}} {
		if _, err := rate(g, bad[0], bad[1]); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
