package runbook_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// decidedRun stores a complete run of a chat whose step 3 net:505 has approved.
func decidedRun(t *testing.T, runs runbook.Runs, chat string) runbook.Run {
	t.Helper()
	g := beginAs(t, runbook.Start{Runbook: parse(t, deploy), By: "net:7", Chat: chat})
	g.solve()
	g.solve()
	if _, err := g.approve(runbook.Approval{Step: 3, By: "net:505", Name: "Eve", Confirmation: "marker"}); err != nil {
		t.Fatal(err)
	}
	g.solveAll()
	if swapped, err := runs.Records.SwapRecord(t.Context(), "runbook/run/"+g.run.ID, "", g.run.Encode()); err != nil || !swapped {
		t.Fatal(swapped, err)
	}
	return g.run
}

var involved = runbook.Involvement{Person: "net:505", Chats: []string{"net:private"}}

func TestARecordOfAPersonWhoWasForgottenKeepsItsHash(t *testing.T) {
	runs, m := newRuns()
	before := decidedRun(t, runs, "net:group")
	parts := musttest.Get(runs.PartsOf(t.Context(), involved))(t)
	if len(parts) != 1 || len(parts[0].Records) != 1 || !strings.Contains(string(parts[0].Records[0]), "marker") {
		t.Errorf("the person's part is %s", asJSON(parts))
	}
	wanttest.Equal(t, "changed runs", musttest.Get(runs.Forget(t.Context(), involved))(t), 1)
	wanttest.Equal(t, "changed again", musttest.Get(runs.Forget(t.Context(), involved))(t), 0)
	if text := fmt.Sprint(m.values); strings.Contains(text, "marker") || strings.Contains(text, "505") {
		t.Errorf("it is still in %s", text)
	}
	after := musttest.Get(runs.Load(t.Context(), before.ID))(t)
	last, err := after.Verify()
	wanttest.Equal(t, "last hash", last, before.LastHash())
	wanttest.Equal(t, "error", err, nil)
	for i := range before.Records {
		wanttest.Equal(t, "hash", after.Records[i].ProofHash, before.Records[i].ProofHash)
		wanttest.Equal(t, "forgotten", after.Records[i].Forgotten != nil, i == 2)
	}
	e := musttest.Get(runs.Export(t.Context(), after))(t)
	key := musttest.Get(runs.PublicKey(t.Context()))(t)
	again := copyOf(t, e)
	wanttest.Equal(t, "signature", again.CheckSignature(key), nil)
	for what, change := range map[string]func(*runbook.Export){
		"its previous":    func(e *runbook.Export) { e.Records[2].Forgotten.Previous = hashOf("another") },
		"its step":        func(e *runbook.Export) { e.Records[2].Forgotten.Step = 2 },
		"its text":        func(e *runbook.Export) { e.Records[2].Record = "{}" },
		"its hash":        func(e *runbook.Export) { e.Records[2].ProofHash = hashOf("another") },
		"one before it":   func(e *runbook.Export) { e.Records[1] = e.Records[0] },
		"without the one": func(e *runbook.Export) { e.Records = append(e.Records[:2:2], e.Records[3]) },
	} {
		changed := copyOf(t, e)
		change(&changed)
		if _, err := runbook.Verify(changed); err == nil {
			t.Errorf("%s was changed, and it verifies", what)
		}
	}
	// Whoever has an export cannot make its records forgotten ones, before which anything may
	// stand.
	whole := musttest.Get(runs.Export(t.Context(), before))(t)
	record := musttest.Get(whole.Records[3].Parse())(t)
	whole.Records[3] = runbook.Entry{ProofHash: whole.Records[3].ProofHash, Forgotten: &runbook.Forgotten{Step: 4, Previous: record.Previous}}
	if whole.CheckSignature(key) == nil {
		t.Error("a record that was made forgotten has a signature")
	}
}

func TestTheRunsOfAForgottenChatEndAndLoseEverything(t *testing.T) {
	runs, m := newRuns()
	ended := decidedRun(t, runs, "net:private")
	open, _, err := runs.Begin(t.Context(), runbook.Start{Runbook: parse(t, deploy), Source: source, Chat: "net:private"})
	musttest.Do(t, err)
	minted := "# Mine\n\n" + section("marker", buildChallenge)
	musttest.Get(runs.Mint(t.Context(), runbook.MintRequest{Chat: "net:private", Text: minted}))(t)
	musttest.Get(runs.Mint(t.Context(), runbook.MintRequest{Chat: "net:other", Text: minted}))(t)
	_, _, err = runs.Begin(t.Context(), runbook.Start{
		Runbook: parse(t, minted), Source: runbook.MintedSource("net:private", "Mine"), Chat: "net:private",
	})
	musttest.Do(t, err)
	wanttest.Equal(t, "changed runs", musttest.Get(runs.Forget(t.Context(), involved))(t), 3)
	if text := fmt.Sprint(m.values); strings.Count(text, "## marker") != 1 || strings.Contains(text, "private") {
		t.Errorf("it is still in %s", text)
	}
	for id, status := range map[string]runbook.Status{ended.ID: runbook.Complete, open.ID: runbook.Failed} {
		r := musttest.Get(runs.Load(t.Context(), id))(t)
		_, err := r.Verify()
		wanttest.Equal(t, "error", err, nil)
		wanttest.Equal(t, "status", r.Status, status)
		if len(r.Export().ForgottenSteps()) != len(r.Records) {
			t.Errorf("%s has %s", id, asJSON(r.Records))
		}
	}
}
