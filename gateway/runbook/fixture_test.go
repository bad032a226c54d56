package runbook_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
)

var began = time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)

// section returns a step with a challenge; "" is a step without one.
func section(label, challenge string) string {
	if challenge == "" {
		return fmt.Sprintf("## %s\n\nText of %s.\n\n", label, label)
	}
	return fmt.Sprintf("## %s\n\nText of %s.\n\n```json\n{\"challenge\":%s}\n```\n\n", label, label, challenge)
}

const (
	buildChallenge   = `{"type":"shell","shell":{"cmd":"make","timeout_seconds":60}}`
	mintChallenge    = `{"type":"mcp","mcp":{"tool_name":"deploy"}}`
	approveChallenge = `{"type":"user_input","user_input":{"prompt":"Go?"}}`
	commentChallenge = `{"type":"comment","comment":{"min_length":5}}`
)

// deploy has a step of each type.
var deploy = "# Deploy\n\n" + section("Build", buildChallenge) + section("Upload", mintChallenge) +
	section("Ask", approveChallenge) + section("Report", commentChallenge)

// fixture executes a run. Each transition is done twice, with the run in memory and with one that
// was stored and loaded, and both must agree.
type fixture struct {
	t     testing.TB
	run   runbook.Run
	now   time.Time
	count uint64
	first runbook.Answer
}

var source = runbook.WorkspaceSource("deploy")

func begin(t testing.TB, text string) *fixture {
	return beginAs(t, runbook.Start{Runbook: parse(t, text)})
}

func beginAs(t testing.TB, start runbook.Start) *fixture {
	g := &fixture{t: t, now: began, count: uint64(len(t.Name()))}
	start.Source = source
	g.run, g.first = runbook.Begin(start, g.env())
	return g
}

func (g *fixture) env() runbook.Env {
	return runbook.Env{Now: g.now, Random: rand.NewChaCha8([32]byte{byte(g.count), byte(g.count >> 8)})}
}

func load(t testing.TB, r runbook.Run) runbook.Run {
	t.Helper()
	loaded := musttest.Get(runbook.DecodeRun(r.Encode()))(t)
	return loaded
}

func (g *fixture) transition(transition func(runbook.Run, runbook.Env) (runbook.Run, runbook.Answer, error)) (runbook.Answer, error) {
	g.t.Helper()
	g.count++
	before, stored := g.run.Encode(), load(g.t, g.run)
	here, answer, err := transition(g.run, g.env())
	there, other, otherErr := transition(stored, g.env())
	if !reflect.DeepEqual(answer, other) || fmt.Sprint(err) != fmt.Sprint(otherErr) || here.Encode() != there.Encode() {
		g.t.Fatalf("after it was stored and loaded: %s, %v\nbefore: %s, %v", asJSON(other), otherErr, asJSON(answer), err)
	}
	if g.run.Encode() != before {
		g.t.Fatal("the transition changed its input")
	}
	g.run = there
	return answer, err
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func (g *fixture) uri(step int) string { return source.StepURI(step) }

// solution is the fields of a solution.
type solution map[string]any

// sign adds the nonce and the hash of the current challenge.
func (g *fixture) sign(s solution) solution {
	signed := solution{"nonce": g.run.Issued.Nonce, "proof_hash": g.run.LastHash()}
	for name, value := range s {
		signed[name] = value
	}
	return signed
}

// send calls Next for a step with a solution as it is; nil is none.
func (g *fixture) send(step int, s solution) runbook.Answer {
	g.t.Helper()
	var raw json.RawMessage
	if s != nil {
		raw = json.RawMessage(asJSON(s))
	}
	a := musttest.Get(g.transition(func(r runbook.Run, env runbook.Env) (runbook.Run, runbook.Answer, error) {
		return runbook.Next(r, runbook.Call{URI: source.StepURI(step), Solution: raw}, env)
	}))(g.t)
	return a
}

var (
	built    = solution{"type": "shell", "shell": solution{"exit_code": 0, "stdout": "ok <&>"}}
	broken   = solution{"type": "shell", "shell": solution{"exit_code": 2}}
	uploaded = solution{"type": "mcp", "mcp": solution{"tool_name": "deploy", "result": solution{"id": 7}, "success": true}}
	approved = solution{"type": "user_input", "user_input": solution{"confirmation": "no"}}
	reported = solution{"type": "comment", "comment": solution{"text": "done."}}
	answers  = []solution{built, uploaded, approved, reported}
)

// solve proves the current step with a correct solution, as an agent does.
func (g *fixture) solve() runbook.Answer {
	g.t.Helper()
	step := g.run.Step
	present, _ := g.run.CurrentStep()
	for _, s := range answers {
		if present.Challenge != nil && s["type"] == present.Challenge.Type {
			a := g.send(step, g.sign(s))
			if a.Outcome != runbook.Advanced {
				g.t.Fatalf("step %d: %s", step, asJSON(a))
			}
			return a
		}
	}
	return g.send(step, solution{})
}

// solveAll proves all remaining steps.
func (g *fixture) solveAll() {
	g.t.Helper()
	for g.run.Status == runbook.Waiting {
		g.solve()
	}
}

// checkError checks an answer with an error.
func (g *fixture) checkError(a runbook.Answer, code, message string, count int) {
	g.t.Helper()
	action := fmt.Sprintf("retry kairos_next with %s -- use nonce and proof_hash from THIS response's challenge", g.uri(g.run.Step))
	g.checkErrorAndAction(a, code, message, action)
	if a.RetryCount == nil || *a.RetryCount != count {
		g.t.Errorf("retry_count %v, want %d", asJSON(a.RetryCount), count)
	}
}

func (g *fixture) checkErrorAndAction(a runbook.Answer, code, message, action string) {
	g.t.Helper()
	if a.ErrorCode != code || a.Message != message || a.NextAction != action || a.ProofHash != "" {
		g.t.Errorf("%s\nwant %s: %s\n%s", asJSON(a), code, message, action)
	}
	if a.MustObey != (code != runbook.MaxRetriesExceeded) || a.Run != g.run.ID {
		g.t.Errorf("must_obey %v, run %q", a.MustObey, a.Run)
	}
	if a.CurrentStep.URI != g.uri(g.run.Step) || a.Challenge.Nonce != g.run.Issued.Nonce || a.Challenge.ProofHash != g.run.LastHash() {
		g.t.Errorf("it does not show the present step: %s", asJSON(a))
	}
}
