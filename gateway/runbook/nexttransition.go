package runbook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrNoRun means that there is no such run.
	ErrNoRun = errors.New("there is no such run. Call kairos_begin to begin one")
	// ErrDamaged means that a stored run cannot be read.
	ErrDamaged = errors.New("the run cannot be read")
	// ErrEnded means that the run has ended before all steps were proved.
	ErrEnded = errors.New("the run has ended. Call kairos_begin to begin a new one")
	// ErrUnknownURI means that the URI names no step of the run.
	ErrUnknownURI = errors.New("the URI names no step of this run's runbook")
	// ErrStale means that a proof or an answer is for another step than the current one.
	ErrStale = errors.New("the step is not the present one")
	// ErrNotRequired means that the current step does not ask for such a proof or answer.
	ErrNotRequired = errors.New("the step does not ask for this")
)

// Start has the parameters of a new run.
type Start struct {
	Runbook Runbook // must have no errors
	Source  Source
	By      string // agent, gateway or channel:id
	Chat    string // the chat of the run, or ""
	Step    int    // the requested step; a run starts with the first one nevertheless

	Driver json.RawMessage // initial value of Run.Driver
}

// Begin creates a run and shows its first step.
func Begin(start Start, env Env) (Run, Answer) {
	r := Run{
		Version: runVersion, ID: env.randomHex(6), Source: start.Source, Text: start.Runbook.Text,
		Hash: start.Runbook.Hash,
		By:   start.By, Chat: start.Chat, Began: env.now(), Status: Waiting, book: start.Runbook, Driver: start.Driver,
	}
	r.enterStep(1, env)
	a := r.showAnswer(Shown)
	if start.Step > 1 {
		a.Message = redirectedMessage
	}
	return r, a
}

// Show shows the current step, with a new challenge if the old one has expired.
func Show(r Run, env Env) (Run, Answer) {
	if r.Status == Waiting {
		r.refreshNonce(env)
	}
	return r, r.showAnswer(Shown)
}

// Call is a call of kairos_next.
type Call struct {
	URI      string          // of the step to be proved, or of the next one
	Solution json.RawMessage // as sent; nil if missing
	By       string          // author of the proof; "" means the agent
}

// Next proves the current step with the solution of an agent. A solution that is not accepted is an
// answer, not an error.
func Next(r Run, call Call, env Env) (Run, Answer, error) {
	step := r.Source.StepIndex(call.URI, len(r.book.Steps))
	if step == 0 {
		return r, Answer{}, ErrUnknownURI
	}
	if r.Status == Failed || r.Status == Declined {
		return r, Answer{}, ErrEnded
	}
	if r.Status == Waiting {
		r.refreshNonce(env)
	}
	solution := readObject(call.Solution)
	if hash, ok := r.wasAccepted(step, solution); ok {
		a := r.showAnswer(Repeated)
		a.ProofHash = hash
		return r, a, nil
	}
	current, _ := r.CurrentStep()
	last := r.book.Steps[len(r.book.Steps)-1]
	var a Answer
	switch {
	case step == last.Index && r.Step > step && !last.needsProof():
		a = r.showAnswer(Repeated)
	case step < r.Step: // includes every step of a complete run
		a = r.failAnswer(nonceMismatch())
	case step > r.Step+1:
		a = r.errorAnswer(r.missingProof(current))
	case !current.needsProof():
		r.acceptStep(r.LastHash(), "", env)
		a = r.showAnswer(Advanced)
	default:
		a = r.attempt(solution, cmp.Or(call.By, ByAgent), env)
	}
	return r, a, nil
}

// missingProof returns the refusal of a step after the current one.
func (r Run) missingProof(current Step) refusal {
	why := fmt.Sprintf("Proof of work missing for %s.", current.Label)
	if c := current.challenge(); c.Type == Shell {
		why += fmt.Sprintf(` Execute "%s" and report the result before continuing.`, c.Shell.Command)
	} else {
		why += fmt.Sprintf(" Complete the required %s verification before continuing.", c.Type)
	}
	return refusal{MissingProof, why, completePrevious}
}

// wasAccepted reports whether a call repeats an accepted one, and returns the hash of its record.
// The call may name the proved step or the next one; with the next one the whole solution must
// match, because the nonce alone might be a mistake.
func (r Run) wasAccepted(step int, solution object) (string, bool) {
	nonce, hash := solution.text("nonce"), solution.text("proof_hash")
	for _, a := range r.Accepted {
		if a.Nonce == nonce && (step == a.Step || step == a.Step+1 && hash == a.Previous) {
			return a.ProofHash, true
		}
	}
	return "", false
}

// attempt proves the current step with a solution that has a nonce and a hash.
func (r *Run) attempt(solution object, by string, env Env) Answer {
	if why := r.checkNonce(solution); why != nil {
		return r.failAnswer(*why)
	}
	step, _ := r.CurrentStep()
	d := step.Challenge
	why := d.checkSolution(solution)
	switch {
	case d.Type != UserInput || why != nil && why.code != MissingField:
		return r.recordOrFail(why, proof{by: by, solution: solution}, env)
	case r.Chat != "" && why == nil: // the word of an agent is not enough
		return r.showAnswer(NeedsPerson)
	case r.Chat == "" && d.Approvals > 1:
		return r.failAnswer(refusal{
			code:    ElicitationFailed,
			message: fmt.Sprintf("This step needs the approval of %d people.", d.Approvals),
		})
	case why != nil:
		a := r.failAnswer(*why)
		if r.Chat == "" {
			a.Outcome = NeedsConfirmation
		}
		return a
	}
	return r.recordOrFail(nil, proof{by: by, solution: solution}, env)
}

// recordOrFail records a proof, or counts a failure. A failed command is recorded as such if the
// step is not required.
func (r *Run) recordOrFail(why *refusal, p proof, env Env) Answer {
	step, _ := r.CurrentStep()
	p.status = Succeeded
	if why != nil {
		if why.code != CommandFailed || step.Challenge.Required {
			return r.failAnswer(*why)
		}
		p.status = FailedProof
	}
	return r.recordProof(p, env)
}
