package runbook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrNoRun is that there is no such run.
	ErrNoRun = errors.New("there is no such run. Call kairos_begin to begin one")
	// ErrDamaged is that a run was stored and cannot be read.
	ErrDamaged = errors.New("the run cannot be read")
	// ErrExists is that there is a run with this ID.
	ErrExists = errors.New("there is a run with this ID")
	// ErrEnded is a transition of a run that has ended before all steps were proved.
	ErrEnded = errors.New("the run has ended. Call kairos_begin to begin a new one")
	// ErrUnknownURI is a URI that names no step of the run.
	ErrUnknownURI = errors.New("the URI names no step of this run's runbook")
	// ErrStale is a proof or an answer for a step that is not the present one.
	ErrStale = errors.New("the step is not the present one")
	// ErrNotAsked is a proof or an answer that the present step does not ask for.
	ErrNotAsked = errors.New("the step does not ask for this")
)

// Start says which run begins.
type Start struct {
	Runbook Runbook // without errors
	Source  Source
	By      string // who begins it: agent, gateway or channel:id
	Chat    string // the chat that the run belongs to, or ""
	Step    int    // the step that was asked for; a run begins with the first one nevertheless

	ID     string          // of the run; "": a random one
	Driver json.RawMessage // of the run
}

// Begin makes a run and shows its first step.
func Begin(start Start, env Env) (Run, Answer) {
	r := Run{
		Version: runVersion, ID: cmp.Or(start.ID, env.randomHex(6)), Source: start.Source, Text: start.Runbook.Text, Hash: start.Runbook.Hash,
		By: start.By, Chat: start.Chat, Began: env.now(), Status: Waiting, book: start.Runbook, Driver: start.Driver,
	}
	r.enter(1, env)
	a := r.show(Shown)
	if start.Step > 1 {
		a.Message = redirected
	}
	return r, a
}

// Show shows the present step, with a new challenge if the old one has expired.
func Show(r Run, env Env) (Run, Answer) {
	if r.Status == Waiting {
		r.refresh(env)
	}
	return r, r.show(Shown)
}

// Call is a call of kairos_next.
type Call struct {
	URI      string          // of the step to be proved, or of the one after it
	Solution json.RawMessage // as it was sent; nil is none
	By       string          // who made the proof; "" is the agent
}

// Next proves the present step with the solution of an agent. An error is returned only if the run
// cannot answer; a solution that is not accepted is an answer.
func Next(r Run, call Call, env Env) (Run, Answer, error) {
	step := r.Source.StepIndex(call.URI, len(r.book.Steps))
	if step == 0 {
		return r, Answer{}, ErrUnknownURI
	}
	if r.Status == Failed || r.Status == Declined {
		return r, Answer{}, ErrEnded
	}
	if r.Status == Waiting {
		r.refresh(env)
	}
	solution := readObject(call.Solution)
	if hash, ok := r.wasAccepted(step, solution); ok {
		a := r.show(Repeated)
		a.ProofHash = hash
		return r, a, nil
	}
	present, _ := r.Present()
	last := r.book.Steps[len(r.book.Steps)-1]
	var a Answer
	switch {
	case step == last.Index && r.Step > step && !last.asksProof():
		a = r.show(Repeated)
	case step < r.Step: // all steps of a run that is complete
		a = r.fail(wrongNonce())
	case step > r.Step+1:
		a = r.tell(r.missing(present))
	case !present.asksProof():
		r.accept(r.LastHash(), "", env)
		a = r.show(Advanced)
	default:
		a = r.attempt(solution, cmp.Or(call.By, ByAgent), env)
	}
	return r, a, nil
}

// missing returns the refusal of a step further on than the present one.
func (r Run) missing(present Step) refusal {
	why := fmt.Sprintf("Proof of work missing for %s.", present.Label)
	if c := present.handOut(); c.Type == Shell {
		why += fmt.Sprintf(` Execute "%s" and report the result before continuing.`, c.Shell.Command)
	} else {
		why += fmt.Sprintf(" Complete the required %s verification before continuing.", c.Type)
	}
	return refusal{MissingProof, why, advisePrevious}
}

// wasAccepted reports whether a call repeats one that was accepted, and returns the hash of the
// record made then. The call may name the step that was proved, or the one after it; there the
// solution must be the old one as a whole, because the nonce might be a mistake.
func (r Run) wasAccepted(step int, solution object) (string, bool) {
	nonce, hash := solution.text("nonce"), solution.text("proof_hash")
	for _, a := range r.Accepted {
		if a.Nonce == nonce && (step == a.Step || step == a.Step+1 && hash == a.Previous) {
			return a.ProofHash, true
		}
	}
	return "", false
}

// attempt proves the present step with a solution that carries nonce and hash.
func (r *Run) attempt(solution object, by string, env Env) Answer {
	if why := r.identify(solution); why != nil {
		return r.fail(*why)
	}
	step, _ := r.Present()
	d := step.Challenge
	why := d.judge(solution)
	switch {
	case d.Type != UserInput || why != nil && why.code != MissingField:
		return r.conclude(why, proof{by: by, solution: solution}, env)
	case r.Chat != "" && why == nil: // an agent's word is not enough
		return r.show(NeedsPerson)
	case r.Chat == "" && d.Approvals > 1:
		return r.fail(refusal{code: ElicitationFailed, message: fmt.Sprintf("This step needs the approval of %d people.", d.Approvals)})
	case why != nil:
		a := r.fail(*why)
		if r.Chat == "" {
			a.Outcome = NeedsConfirmation
		}
		return a
	}
	return r.conclude(nil, proof{by: by, solution: solution}, env)
}

// conclude records a proof, or counts a failure. A command that failed is recorded as such if the
// step is not required.
func (r *Run) conclude(why *refusal, p proof, env Env) Answer {
	step, _ := r.Present()
	p.status = Succeeded
	if why != nil {
		if why.code != CommandFailed || step.Challenge.Required {
			return r.fail(*why)
		}
		p.status = FailedProof
	}
	return r.record(p, env)
}
