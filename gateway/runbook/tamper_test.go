package runbook_test

import (
	"crypto/ed25519"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

// checkExport verifies an export as `nanobot runbook verify` does.
func checkExport(text string, key ed25519.PublicKey) error {
	e, err := runbook.DecodeExport(text)
	if err != nil {
		return err
	}
	if _, err := runbook.Verify(e); err != nil {
		return err
	}
	return e.CheckSignature(key)
}

// rebuild changes the record of a proof and then makes the chain consistent again.
func rebuild(e *runbook.Export, changed int, change func(record map[string]json.RawMessage)) {
	previous := runbook.Genesis
	for i, entry := range e.Records {
		var record map[string]json.RawMessage
		if err := json.Unmarshal([]byte(entry.Record), &record); err != nil {
			panic(err)
		}
		if i == changed {
			change(record)
		}
		record["previous"] = json.RawMessage(asJSON(previous))
		text := asJSON(record)
		previous = hashOf(text)
		e.Records[i] = runbook.Entry{Record: text, ProofHash: previous}
	}
}

// TestEveryChangeOfAnExportIsNamed forges a signed export in the ways that somebody would try.
func TestEveryChangeOfAnExportIsNamed(t *testing.T) {
	runs, _ := newRuns()
	key := must1(runs.PublicKey(t.Context()))
	run := completeRun(t).run
	good := must1(runs.Export(t.Context(), run))
	musttest.Do(t, checkExport(good.Encode(), key))
	other := completeRun(t).run // of the same runbook
	other.ID = "abcdefabcdef"
	otherRuns, _ := newRuns()
	replace := func(old, new string) func(*runbook.Export) { // in the text of the second record
		return func(e *runbook.Export) {
			if !strings.Contains(e.Records[1].Record, old) {
				t.Fatalf("no %s in %s", old, e.Records[1].Record)
			}
			e.Records[1].Record = strings.Replace(e.Records[1].Record, old, new, 1)
		}
	}
	byPerson := json.RawMessage(`"net:7"`)
	for name, forgery := range map[string]struct {
		change func(e *runbook.Export)
		want   string
	}{
		"another result":    {replace(`"id":7`, `"id":8`), "step 3, Two: its record was changed: the hash differs"},
		"another author":    {replace(`"by":"agent"`, `"by":"gateway"`), "step 3, Two"},
		"another time":      {replace(`"executed_at":"2026`, `"executed_at":"2027`), "step 3, Two"},
		"another nonce":     {replace(`"nonce":"`, `"nonce":"0`), "step 3, Two"},
		"another challenge": {replace(`"tool_name":"deploy"`, `"tool_name":"nothing"`), "step 3, Two"},
		"another hash":      {func(e *runbook.Export) { e.Records[1].ProofHash = hashOf("x") }, "step 3, Two"},
		"a record and its hash": {func(e *runbook.Export) {
			replace(`"id":7`, `"id":8`)(e)
			e.Records[1].ProofHash = hashOf(e.Records[1].Record)
		}, "step 3, Two: its record was changed: the record of step 4, Three, follows another one"},
		"the last record and its hash": {func(e *runbook.Export) {
			e.Records[3].Record = strings.Replace(e.Records[3].Record, "done.", "gone.", 1)
			e.Records[3].ProofHash = hashOf(e.Records[3].Record)
		}, "its signature does not match"},
		"the word of an agent as that of a person": {func(e *runbook.Export) { e.Records[1].Word = runbook.WordOfPerson }, "step 3, Two: its proof is the word of the agent"},
		"a step removed":                     {func(e *runbook.Export) { e.Records = slices.Delete(e.Records, 1, 2) }, "step 3, Two: its record is missing"},
		"the last step removed":              {func(e *runbook.Export) { e.Records = e.Records[:3] }, "step 5, Four: its record is missing"},
		"the last step removed, and waiting": {func(e *runbook.Export) { e.Records, e.Status = e.Records[:3], runbook.Waiting }, "its signature does not match"},
		"all records removed, and waiting":   {func(e *runbook.Export) { e.Records, e.Status = nil, runbook.Waiting }, "its signature does not match"},
		"steps exchanged":                    {func(e *runbook.Export) { e.Records[1], e.Records[2] = e.Records[2], e.Records[1] }, "step 3, Two: its record was moved"},
		"a step twice":                       {func(e *runbook.Export) { e.Records = append(e.Records, e.Records[3]) }, "step 5, Four: its record was added"},
		"the ID of another run":              {func(e *runbook.Export) { e.Run = other.ID }, "step 1, One: its record was changed: it belongs to another run"},
		"a record of another run": {func(e *runbook.Export) {
			rebuild(e, 1, func(r map[string]json.RawMessage) { r["run"] = json.RawMessage(asJSON(other.ID)) })
		}, "step 3, Two: its record was changed: it belongs to another run"},
		"another status": {func(e *runbook.Export) { e.Status = runbook.Failed }, "its signature does not match"},
		"another label":  {func(e *runbook.Export) { e.Runbook.Label = "C" }, "the runbook's text or label was changed"},
		"another text": {func(e *runbook.Export) {
			e.Runbook.Text = strings.Replace(e.Runbook.Text, "Text of One", "Text of All", 1)
		}, "step 1, One: its record was changed: the runbook's text is another one"},
		"another command": {func(e *runbook.Export) {
			e.Runbook.Text = strings.Replace(e.Runbook.Text, `"cmd":"make"`, `"cmd":"true"`, 1)
		}, "step 1, One: its record was changed: the challenge is not that of the runbook"},
		"another version":     {func(e *runbook.Export) { e.Version = 2 }, "version 2 is unknown"},
		"no signature":        {func(e *runbook.Export) { e.Signature, e.PublicKey = nil, nil }, "it is not signed"},
		"a changed signature": {func(e *runbook.Export) { e.Signature[7] ^= 1 }, "its signature does not match"},
		"a short signature":   {func(e *runbook.Export) { e.Signature = e.Signature[:10] }, "its signature does not match"},
		"another public key":  {func(e *runbook.Export) { e.PublicKey[0] ^= 1 }, "it is signed with another key"},
		"the signature of another run": {func(e *runbook.Export) {
			e.Signature = must1(runs.Export(t.Context(), other)).Signature
		}, "its signature does not match"},
		"a rebuilt chain": {func(e *runbook.Export) {
			rebuild(e, 1, func(r map[string]json.RawMessage) { r["by"] = byPerson })
		}, "its signature does not match"},
		"a rebuilt chain that is signed with another key": {func(e *runbook.Export) {
			run := run
			rebuild(e, 1, func(r map[string]json.RawMessage) { r["by"] = byPerson })
			run.Records = e.Records
			*e = must1(otherRuns.Export(t.Context(), run))
		}, "it is signed with another key"},
		"a rebuilt chain that is signed with another key and names the bot's": {func(e *runbook.Export) {
			run := run
			rebuild(e, 1, func(r map[string]json.RawMessage) { r["by"] = byPerson })
			run.Records = e.Records
			forged := must1(otherRuns.Export(t.Context(), run))
			forged.PublicKey = slices.Clone(key)
			*e = forged
		}, "its signature does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			e := copyOf(t, good)
			forgery.change(&e)
			err := checkExport(e.Encode(), key)
			if err == nil || !strings.Contains(err.Error(), forgery.want) {
				t.Errorf("it says %v, not %s", err, forgery.want)
			}
		})
	}
	for _, added := range []string{strings.Replace(good.Encode(), `{"version"`, `{"approved_by":"the boss","version"`, 1), good.Encode() + good.Encode()} {
		if err := checkExport(added, key); err == nil {
			t.Errorf("it is accepted: %.80s", added)
		}
	}
}

func TestProofsSayWhoseWordTheyAre(t *testing.T) {
	g := beginAs(t, runbook.Start{Runbook: parse(t, "# B\n"+section("One", buildChallenge)+section("Two", buildChallenge)+section("Three", approveChallenge)), Chat: "net:1"})
	g.solve()
	for _, transition := range []func(runbook.Run, runbook.Env) (runbook.Run, runbook.Answer, error){
		func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
			return runbook.Prove(r, runbook.Proof{Step: 2, By: runbook.ByGateway, Type: runbook.Shell, Value: runbook.ShellProof{}}, env)
		},
		func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
			return runbook.Approve(r, runbook.Approval{Step: 3, By: "net:7"}, env)
		},
	} {
		musttest.Get(g.transition(transition))(t)
	}
	var words []runbook.Word
	for _, e := range g.run.Export().Records {
		words = append(words, e.Word)
	}
	if !slices.Equal(words, []runbook.Word{runbook.WordOfAgent, runbook.WordOfGateway, runbook.WordOfPerson}) {
		t.Errorf("the words are %q", words)
	}
	for i, w := range words {
		for j, than := range words {
			if w.AtLeast(than) != (i >= j) {
				t.Errorf("%s at least %s: %v", w, than, w.AtLeast(than))
			}
		}
	}
}

// TestTheKeyIsMadeOnce has two processes ask for the key of a new state at the same time.
func TestTheKeyIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	open := func(shared bool) (runbook.Runs, *sqlite.Store) {
		s := musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{Shared: shared}))(t)
		t.Cleanup(func() { s.Close() })
		return runbook.Runs{Records: s}, s
	}
	daemon, db := open(false)
	command, _ := open(true)
	keys := make(chan ed25519.PublicKey, 2)
	for _, runs := range []runbook.Runs{daemon, command} {
		go func() {
			key, err := runs.PublicKey(t.Context())
			if err != nil {
				t.Error(err)
			}
			keys <- key
		}()
	}
	if one, two := <-keys, <-keys; !one.Equal(two) {
		t.Error("two keys were made")
	}
	musttest.Do(t, db.SaveRecords(t.Context(), map[string]string{"runbook/key": "0123"}))
	if _, err := daemon.PublicKey(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged key: %v", err)
	}
}
