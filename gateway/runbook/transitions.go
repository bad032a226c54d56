package runbook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Proof is a proof made or observed by the gateway, which needs no nonce.
type Proof struct {
	Step  int    // the proved step; ErrStale unless it is the current one
	By    string // gateway, agent or channel:id
	Type  string
	Value any // the field of the solution of that type, such as ShellProof
}

// ShellProof is the observed result of a command.
type ShellProof struct {
	ExitCode        int     `json:"exit_code"`
	Stdout          string  `json:"stdout"`
	Stderr          string  `json:"stderr"`
	DurationSeconds float64 `json:"duration_seconds"`
}

// MCPProof is the observed result of a tool call.
type MCPProof struct {
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Success   bool            `json:"success"`
}

// CommentProof is the text of a comment.
type CommentProof struct {
	Text string `json:"text"`
}

// openStep returns the current step, or ErrStale if step is not its number. An expired challenge
// stays valid here: a command or a person may take longer than an hour, and an agent that waits for
// the person can then repeat its solution.
func (r Run) openStep(step int) (Step, error) {
	if r.Status == Failed || r.Status == Declined {
		return Step{}, ErrEnded
	}
	current, ok := r.CurrentStep()
	if !ok || r.Status != Waiting || step != r.Step {
		return Step{}, ErrStale
	}
	return current, nil
}

// Prove proves the current step with an observation of the gateway. A step that needs no proof
// accepts any. People approve with Approve.
func Prove(r Run, p Proof, env Env) (Run, Answer, error) {
	step, err := r.openStep(p.Step)
	if err != nil {
		return r, Answer{}, err
	}
	if !step.needsProof() {
		r.acceptStep(r.LastHash(), "", env)
		return r, r.showAnswer(Advanced), nil
	}
	if step.Challenge.Type == UserInput || p.Type == UserInput {
		return r, Answer{}, ErrNotRequired
	}
	raw, err := encode(map[string]any{"type": p.Type, p.Type: p.Value})
	if err != nil {
		return r, Answer{}, fmt.Errorf("encode proof: %w", err)
	}
	solution := readObject(raw)
	if solution == nil {
		return r, Answer{}, errUnreadable
	}
	a := r.recordOrFail(step.Challenge.checkSolution(solution), proof{by: p.By, solution: solution}, env)
	return r, a, nil
}

// Approval is the answer of a person who approves.
type Approval struct {
	Step         int
	By           string // channel:id
	Name         string // of the person, for display
	Confirmation string // the person's words; "" means `approved`
}

// userInput is the recorded solution of a step that people approved.
type userInput struct {
	Confirmation string     `json:"confirmation"`
	Timestamp    string     `json:"timestamp"`
	Approvals    []Approved `json:"approvals,omitempty"` // all approvals, if several were needed
}

// Approve counts the approval of a person; a second one by the same person does not count. The last
// approval that the step needs proves it.
func Approve(r Run, a Approval, env Env) (Run, Answer, error) {
	step, err := r.openStep(a.Step)
	if err != nil {
		return r, Answer{}, err
	}
	if !step.needsProof() || step.Challenge.Type != UserInput {
		return r, Answer{}, ErrNotRequired
	}
	if a.Confirmation == "" {
		a.Confirmation = "approved"
	}
	at := env.Now.UTC().Format(timeFormat)
	if !slices.ContainsFunc(r.Approvals, func(b Approved) bool { return b.By == a.By }) {
		r.Approvals = append(slices.Clip(r.Approvals), Approved{a.By, a.Name, a.Confirmation, at})
	}
	need := step.Challenge.Approvals
	if len(r.Approvals) < need {
		answer := r.showAnswer(NeedsApproval)
		answer.Message = fmt.Sprintf("%d of %d approvals.", len(r.Approvals), need)
		return r, answer, nil
	}
	value := userInput{Confirmation: a.Confirmation, Timestamp: at}
	if need > 1 {
		value.Approvals = r.Approvals
	}
	solution := object{"type": mustEncode(UserInput), UserInput: mustEncode(value)}
	answer := r.recordProof(proof{status: Succeeded, by: a.By, solution: solution}, env)
	return r, answer, nil
}

// Refusal is the result of a question that did not end with an approval.
type Refusal struct {
	Step           int
	By             string
	Cancelled      bool   // the person did not decide
	NotAskedReason string // why the question could not be asked; "" if it was
	End            bool   // ends the run
}

// Decline counts a refusal as a failure of the step, and ends the run if d.End is set. The
// approvals of others are withdrawn only if a person has refused.
func Decline(r Run, d Refusal, env Env) (Run, Answer, error) {
	step, err := r.openStep(d.Step)
	if err != nil {
		return r, Answer{}, err
	}
	if !step.needsProof() {
		return r, Answer{}, ErrNotRequired
	}
	why := refusal{code: UserDeclined, message: "User declined confirmation."}
	switch {
	case d.NotAskedReason != "":
		why = refusal{code: ElicitationFailed, message: d.NotAskedReason}
	case d.Cancelled:
		why.message = "User cancelled or did not confirm."
	default:
		r.Approvals = nil
	}
	a := r.failAnswer(why)
	if d.End {
		a.MustObey = true
		a.ErrorCode, a.Message, a.NextAction = why.code, why.message, "Run ended."
		r.endRun(Declined, d.By, why.message, env)
	}
	return r, a, nil
}

var (
	errNoReason   = errors.New("a reason is needed")
	errNoPerson   = errors.New("only a person may skip a step")
	errUnreadable = errors.New("encode proof: it is nested too deeply to be read again")
	errBadOutcome = errors.New("outcome must be success or failure")
	errNoMessage  = errors.New("message must not be empty")
)

var (
	// ErrTooSoon means that a step has not failed often enough to be skipped.
	ErrTooSoon = fmt.Errorf("a step can be skipped after %d failures", maxFailures)
	// ErrPeopleOnly means that only the people of the run's chat can approve or reject the step,
	// and that it cannot be skipped.
	ErrPeopleOnly = errors.New("a step that people approve cannot be skipped")
)

// CanSkip reports whether the current step has failed so often that a person may skip it. A step
// that the people of a chat approve cannot be skipped: an agent could make it fail, and then one
// person could decide in place of several.
func (r Run) CanSkip() bool {
	return r.Status == Waiting && r.Issued.Failures >= maxFailures && !r.isPeopleStep()
}

// isPeopleStep reports whether only the people of the run's chat can prove the current step.
func (r Run) isPeopleStep() bool {
	step, ok := r.CurrentStep()
	return ok && r.Chat != "" && step.Challenge != nil && step.Challenge.Type == UserInput
}

// SkipDecision is a person's decision to continue without a proof.
type SkipDecision struct {
	Step   int
	By     string
	Reason string
}

// Skip records that a person has skipped the current step.
func Skip(r Run, s SkipDecision, env Env) (Run, Answer, error) {
	step, err := r.openStep(s.Step)
	switch {
	case err != nil:
		return r, Answer{}, err
	case !step.needsProof():
		return r, Answer{}, ErrNotRequired
	case r.isPeopleStep():
		return r, Answer{}, ErrPeopleOnly
	case !r.CanSkip():
		return r, Answer{}, ErrTooSoon
	case s.Reason == "":
		return r, Answer{}, errNoReason
	case s.By == "" || s.By == ByAgent:
		return r, Answer{}, errNoPerson
	}
	a := r.recordProof(proof{status: SkippedProof, by: s.By, reason: s.Reason}, env)
	return r, a, nil
}

// Abort ends an open run.
func Abort(r Run, by, reason string, env Env) (Run, error) {
	if r.Status != Waiting {
		return r, ErrEnded
	}
	r.endRun(Failed, by, reason, env)
	return r, nil
}
