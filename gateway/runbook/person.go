package runbook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Proof is a proof that the gateway made or saw: it needs no nonce.
type Proof struct {
	Step  int    // which step was proved; ErrStale unless it is the present one
	By    string // gateway, agent or channel:id
	Type  string
	Value any // the solution's field of that type, such as ShellProof
}

// ShellProof is what was seen of a command.
type ShellProof struct {
	ExitCode        int     `json:"exit_code"`
	Stdout          string  `json:"stdout"`
	Stderr          string  `json:"stderr"`
	DurationSeconds float64 `json:"duration_seconds"`
}

// MCPProof is what was seen of a tool call.
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

// open returns the present step for a transition that names it. A challenge that has expired stays:
// a command may take longer than an hour, and so may a person; and an agent that waits for the
// person can then send its solution again.
func (r Run) open(step int) (Step, error) {
	if r.Status == Failed || r.Status == Declined {
		return Step{}, ErrEnded
	}
	present, ok := r.Present()
	if !ok || r.Status != Waiting || step != r.Step {
		return Step{}, ErrStale
	}
	return present, nil
}

// Prove proves the present step with what the gateway saw. A step that asks for no proof accepts
// any. People approve with Approve.
func Prove(r Run, p Proof, env Env) (Run, Answer, error) {
	step, err := r.open(p.Step)
	if err != nil {
		return r, Answer{}, err
	}
	if !step.asksProof() {
		r.accept(r.LastHash(), "", env)
		return r, r.show(Advanced), nil
	}
	if step.Challenge.Type == UserInput || p.Type == UserInput {
		return r, Answer{}, ErrNotAsked
	}
	raw, err := encode(map[string]any{"type": p.Type, p.Type: p.Value})
	if err != nil {
		return r, Answer{}, fmt.Errorf("encode proof: %w", err)
	}
	solution := readObject(raw)
	if solution == nil {
		return r, Answer{}, errUnreadable
	}
	a := r.conclude(step.Challenge.judge(solution), proof{by: p.By, solution: solution}, env)
	return r, a, nil
}

// Approval is the answer of a person who approves.
type Approval struct {
	Step         int
	By           string // channel:id
	Confirmation string // what the person said; "" is `approved`
}

// userInput is the recorded solution of a step that people approved.
type userInput struct {
	Confirmation string     `json:"confirmation"`
	Timestamp    string     `json:"timestamp"`
	Approvals    []Approved `json:"approvals,omitempty"` // all of them, if several were needed
}

// Approve counts the approval of a person, once. With the last one that the step needs it is
// proved.
func Approve(r Run, a Approval, env Env) (Run, Answer, error) {
	step, err := r.open(a.Step)
	if err != nil {
		return r, Answer{}, err
	}
	if !step.asksProof() || step.Challenge.Type != UserInput {
		return r, Answer{}, ErrNotAsked
	}
	if a.Confirmation == "" {
		a.Confirmation = "approved"
	}
	at := env.Now.UTC().Format(timeForm)
	if !slices.ContainsFunc(r.Approvals, func(b Approved) bool { return b.By == a.By }) {
		r.Approvals = append(slices.Clip(r.Approvals), Approved{a.By, a.Confirmation, at})
	}
	need := step.Challenge.Approvals
	if len(r.Approvals) < need {
		answer := r.show(NeedsApproval)
		answer.Message = fmt.Sprintf("%d of %d approvals.", len(r.Approvals), need)
		return r, answer, nil
	}
	value := userInput{Confirmation: a.Confirmation, Timestamp: at}
	if need > 1 {
		value.Approvals = r.Approvals
	}
	solution := object{"type": marshal(UserInput), UserInput: marshal(value)}
	answer := r.record(proof{status: Succeeded, by: a.By, solution: solution}, env)
	return r, answer, nil
}

// Refusal is a question that was not answered with an approval.
type Refusal struct {
	Step      int
	By        string
	Cancelled bool   // the person went away
	Unasked   string // why the question could not be put, if so
	End       bool   // ends the run
}

// Decline counts a refusal as a failure of the step, and may end the run. Only a person who says no
// withdraws what others have approved.
func Decline(r Run, d Refusal, env Env) (Run, Answer, error) {
	step, err := r.open(d.Step)
	if err != nil {
		return r, Answer{}, err
	}
	if !step.asksProof() {
		return r, Answer{}, ErrNotAsked
	}
	why := refusal{code: UserDeclined, message: "User declined confirmation."}
	switch {
	case d.Unasked != "":
		why = refusal{code: ElicitationFailed, message: d.Unasked}
	case d.Cancelled:
		why.message = "User cancelled or did not confirm."
	default:
		r.Approvals = nil
	}
	a := r.fail(why)
	if d.End {
		a.MustObey = true
		a.ErrorCode, a.Message, a.NextAction = why.code, why.message, "Run ended."
		r.end(Declined, d.By, why.message, env)
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
	// ErrTooSoon is a step that has not failed often enough to be skipped.
	ErrTooSoon = fmt.Errorf("a step can be skipped after %d failures", maxFailures)
	// ErrGate is a step that the people of the run's chat approve or reject, and cannot skip.
	ErrGate = errors.New("a step that people approve cannot be skipped")
)

// CanSkip reports whether the present step has failed so often that a person may skip it. A step
// that the people of a chat approve never has: an agent can fail there as often as it likes, and
// one person could then decide alone what is for several.
func (r Run) CanSkip() bool {
	return r.Status == Waiting && r.Issued.Failures >= maxFailures && !r.isGate()
}

// isGate reports whether the present step is proved by the people of the run's chat alone.
func (r Run) isGate() bool {
	step, ok := r.Present()
	return ok && r.Chat != "" && step.Challenge != nil && step.Challenge.Type == UserInput
}

// Skipping is the decision of a person to go on without a proof.
type Skipping struct {
	Step   int
	By     string
	Reason string
}

// Skip records that a person skipped the present step.
func Skip(r Run, s Skipping, env Env) (Run, Answer, error) {
	step, err := r.open(s.Step)
	switch {
	case err != nil:
		return r, Answer{}, err
	case !step.asksProof():
		return r, Answer{}, ErrNotAsked
	case r.isGate():
		return r, Answer{}, ErrGate
	case !r.CanSkip():
		return r, Answer{}, ErrTooSoon
	case s.Reason == "":
		return r, Answer{}, errNoReason
	case s.By == "" || s.By == ByAgent:
		return r, Answer{}, errNoPerson
	}
	a := r.record(proof{status: SkippedProof, by: s.By, reason: s.Reason}, env)
	return r, a, nil
}

// Abort ends an open run.
func Abort(r Run, by, reason string, env Env) (Run, error) {
	if r.Status != Waiting {
		return r, ErrEnded
	}
	r.end(Failed, by, reason, env)
	return r, nil
}
