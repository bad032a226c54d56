package runbook_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
)

// completeRun returns a complete run whose middle step needs no proof.
func completeRun(t *testing.T) *fixture {
	g := begin(t, "# B\n"+section("One", buildChallenge)+section("Read", "")+section("Two", mintChallenge)+section("Three", approveChallenge)+section("Four", commentChallenge))
	g.solveAll()
	return g
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// copyOf returns an export that can be changed, as one that was printed and read.
func copyOf(t *testing.T, e runbook.Export) runbook.Export {
	again := musttest.Get(runbook.DecodeExport(e.Encode()))(t)
	return again
}

// verifyError verifies an export and returns the label that the error names, or "".
func verifyError(t *testing.T, e runbook.Export) (string, string) {
	t.Helper()
	_, err := runbook.Verify(e)
	var wrong *runbook.RecordError
	if err == nil || !errors.As(err, &wrong) {
		t.Errorf("it verifies: %v", err)
		return "", ""
	}
	return wrong.Label, err.Error()
}

func TestAnExportVerifies(t *testing.T) {
	g := completeRun(t)
	e := g.run.Export()
	var form map[string]json.RawMessage
	musttest.Do(t, json.Unmarshal([]byte(e.Encode()), &form))
	if got := strings.Join(slices.Sorted(maps.Keys(form)), " "); got != "records run runbook status version" {
		t.Errorf("the fields are %s", got)
	}
	last, err := runbook.Verify(copyOf(t, e))
	if err != nil || last != hashOf(e.Records[3].Record) || last != e.Records[3].ProofHash {
		t.Errorf("%v, last hash %s", err, last)
	}
	open := begin(t, deploy)
	if last, err := runbook.Verify(open.run.Export()); err != nil || last != runbook.Genesis {
		t.Errorf("no records: %v, %s", err, last)
	}
	if text := open.run.Export().Encode(); !strings.Contains(text, `"records":[]`) || !strings.Contains(text, `"status":"waiting"`) {
		t.Errorf("%s", text)
	}
	open.solve()
	if last, err := runbook.Verify(open.run.Export()); err != nil || last != open.run.LastHash() {
		t.Errorf("an open run: %v, %s", err, last)
	}
}

var labels = []string{"One", "Two", "Three", "Four"}

func TestAChangedRecordIsNamed(t *testing.T) {
	e := completeRun(t).run.Export()
	for i, entry := range e.Records {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(entry.Record), &fields); err != nil || len(fields) != 14 {
			t.Fatalf("%v: %d fields in %s", err, len(fields), entry.Record)
		}
		for name := range fields {
			changed := maps.Clone(fields)
			changed[name] = json.RawMessage(`"other"`)
			if string(fields[name]) == `"agent"` {
				changed[name] = json.RawMessage(`"net:7"`)
			}
			text := asJSON(changed)
			bad := copyOf(t, e)
			bad.Records[i].Record = text
			if label, _ := verifyError(t, bad); label != labels[i] {
				t.Errorf("%s of step %s changed: %s is named", name, labels[i], label)
			}
			if i == 3 && !slices.Contains([]string{"run", "runbook", "runbook_hash", "step", "label", "type", "required", "status", "previous", "challenge", "comment"}, name) {
				continue // the chain says nothing of the last record; its hash does
			}
			bad.Records[i].ProofHash = hashOf(text)
			if _, message := verifyError(t, bad); !strings.Contains(message, labels[i]) {
				t.Errorf("%s of step %s changed, with its hash: %s", name, labels[i], message)
			}
		}
		bad := copyOf(t, e)
		bad.Records[i].ProofHash = hashOf("x")
		if label, _ := verifyError(t, bad); label != labels[i] {
			t.Errorf("the hash of step %s changed: %s is named", labels[i], label)
		}
		bad.Records[i] = runbook.Entry{Record: "{", ProofHash: hashOf("{")}
		if label, _ := verifyError(t, bad); label != labels[i] {
			t.Errorf("the record of step %s is no JSON: %s is named", labels[i], label)
		}
		bad.Records[i] = runbook.Entry{Record: entry.Record + " ", ProofHash: entry.ProofHash}
		if label, _ := verifyError(t, bad); label != labels[i] {
			t.Errorf("a blank behind the record of step %s: %s is named", labels[i], label)
		}
	}
}

func TestADroppedMovedOrAddedRecordIsNamed(t *testing.T) {
	e := completeRun(t).run.Export()
	for i := range e.Records {
		bad := copyOf(t, e)
		bad.Records = slices.Delete(bad.Records, i, i+1)
		if label, _ := verifyError(t, bad); label != labels[i] {
			t.Errorf("step %s dropped: %s is named", labels[i], label)
		}
		for j := range e.Records[:i] {
			bad = copyOf(t, e)
			bad.Records[i], bad.Records[j] = bad.Records[j], bad.Records[i]
			if label, _ := verifyError(t, bad); label != labels[j] {
				t.Errorf("steps %s and %s exchanged: %s is named", labels[j], labels[i], label)
			}
		}
		bad = copyOf(t, e)
		bad.Records = slices.Insert(bad.Records, i+1, e.Records[i])
		if label, _ := verifyError(t, bad); label != labels[i] {
			t.Errorf("step %s twice: %s is named", labels[i], label)
		}
		bad = copyOf(t, e)
		bad.Records = append(bad.Records, e.Records[i])
		if label, _ := verifyError(t, bad); label != labels[i] {
			t.Errorf("step %s again at the end: %s is named", labels[i], label)
		}
	}
	bad := copyOf(t, e)
	bad.Records = nil
	if label, _ := verifyError(t, bad); label != "One" {
		t.Errorf("all dropped: %s is named", label)
	}
	var read map[string]any
	json.Unmarshal([]byte(e.Records[0].Record), &read)
	read["step"], read["label"], read["previous"] = 2, "Read", e.Records[0].ProofHash
	text := asJSON(read)
	bad = copyOf(t, e)
	bad.Records = slices.Insert(bad.Records, 1, runbook.Entry{Record: text, ProofHash: hashOf(text)})
	if label, _ := verifyError(t, bad); label != "Read" {
		t.Errorf("a record of a step that asks for no proof: %s is named", label)
	}
}

func TestARecordOfAnotherRunOrTextIsFound(t *testing.T) {
	g := completeRun(t)
	e := g.run.Export()
	other := &fixture{t: t, now: began, count: 777}
	other.run, _ = runbook.Begin(runbook.Start{Runbook: g.run.Runbook(), Source: source}, other.env())
	other.solveAll()
	for i := range e.Records {
		bad := copyOf(t, e)
		bad.Records[i] = other.run.Records[i]
		if _, message := verifyError(t, bad); !strings.Contains(message, labels[i]) {
			t.Errorf("the record of step %s of another run: %s", labels[i], message)
		}
	}
	for name, change := range map[string]func(*runbook.Export){
		"run":            func(e *runbook.Export) { e.Run = "x" },
		"label":          func(e *runbook.Export) { e.Runbook.Label = "x" },
		"body":           func(e *runbook.Export) { e.Runbook.Text = strings.Replace(e.Runbook.Text, "Text of Read", "Text", 1) },
		"challenge":      func(e *runbook.Export) { e.Runbook.Text = strings.Replace(e.Runbook.Text, `"make"`, `"true"`, 1) },
		"no runbook":     func(e *runbook.Export) { e.Runbook.Text = "" },
		"another step":   func(e *runbook.Export) { e.Runbook.Text += section("More", commentChallenge) },
		"version":        func(e *runbook.Export) { e.Version = 2 },
		"all other ones": func(e *runbook.Export) { e.Records = other.run.Records },
	} {
		bad := copyOf(t, e)
		change(&bad)
		if _, message := verifyError(t, bad); message == "" {
			t.Errorf("%s: no message", name)
		}
	}
}

func TestARecordNamesAsManyPeopleAsMustApprove(t *testing.T) {
	g := inChat(t, "# B\n"+section("Ask", `{"type":"user_input","user_input":{"approvals":2}}`))
	g.approve(runbook.Approval{Step: 1, By: "net:7"})
	g.approve(runbook.Approval{Step: 1, By: "net:8"})
	e := g.run.Export()
	musttest.Get(runbook.Verify(e))(t)
	for from, to := range map[string]string{"net:7": "net:8", `"approvals":[`: `"others":[`} {
		text := strings.Replace(e.Records[0].Record, from, to, 1)
		bad := copyOf(t, e)
		if bad.Records[0] = (runbook.Entry{Record: text, ProofHash: hashOf(text)}); text == e.Records[0].Record {
			t.Fatalf("there is no %s in %s", from, text)
		}
		if label, _ := verifyError(t, bad); label != "Ask" {
			t.Errorf("%s is named", label)
		}
	}
}

func TestAStoredRunVerifiesToItsLastRecord(t *testing.T) {
	g := begin(t, deploy)
	g.solve()
	g.solve()
	if last, err := g.run.Verify(); err != nil || last != g.run.LastHash() {
		t.Fatalf("%v, %s", err, last)
	}
	bad := load(t, g.run)
	bad.Records = bad.Records[:1]
	if _, err := bad.Verify(); err == nil || !strings.Contains(err.Error(), "step 2, Upload") {
		t.Errorf("the last one of an open run dropped: %v", err)
	}
	bad.Records, bad.Accepted = g.run.Records, g.run.Accepted[:1]
	if _, err := bad.Verify(); err == nil {
		t.Error("an added record was not found")
	}
}

func TestBytesThatAreNoTextSurviveTheExport(t *testing.T) {
	g := begin(t, "# B\n"+section("Build", buildChallenge))
	raw := strings.Replace(asJSON(g.sign(built)), "ok <&>", "a\xff\u2028\\u0000\\ud83d", 1)
	r, a, err := runbook.Next(g.run, runbook.Call{URI: g.uri(1), Solution: json.RawMessage(raw)}, g.env())
	if err != nil || a.Outcome != runbook.Advanced {
		t.Fatalf("%v, %s", err, asJSON(a))
	}
	if _, err := runbook.Verify(copyOf(t, load(t, r).Export())); err != nil {
		t.Error(err)
	}
}
