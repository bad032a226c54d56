package runbook

import "fmt"

// The codes of answers that say an error.
const (
	MissingField       = "MISSING_FIELD"
	NonceMismatch      = "NONCE_MISMATCH"
	ProofHashMismatch  = "PROOF_HASH_MISMATCH"
	TypeMismatch       = "TYPE_MISMATCH"
	CommandFailed      = "COMMAND_FAILED"
	MCPToolMismatch    = "MCP_TOOL_MISMATCH"
	CommentTooShort    = "COMMENT_TOO_SHORT"
	UserDeclined       = "USER_DECLINED"
	ElicitationFailed  = "ELICITATION_FAILED"
	MaxRetriesExceeded = "MAX_RETRIES_EXCEEDED"
	MissingProof       = "MISSING_PROOF"
)

// Outcome is what a transition did.
type Outcome int

const (
	// Shown is an answer that only shows the present step.
	Shown Outcome = iota
	// Advanced is a step that was accepted.
	Advanced
	// Repeated is a solution that was accepted before.
	Repeated
	// Refused is an answer that says an error.
	Refused
	// NeedsPerson is a solution that is right so far, but the people of the run's chat must
	// approve.
	NeedsPerson
	// NeedsConfirmation is an error only for want of a confirmation: who can ask the person may do
	// so instead of storing the run with the failure.
	NeedsConfirmation
	// NeedsApproval is an approval that was counted, and more are needed.
	NeedsApproval
)

// Answer is the result of a transition in the form of the tools kairos_begin and kairos_next.
type Answer struct {
	MustObey    bool         `json:"must_obey"`
	CurrentStep *CurrentStep `json:"current_step,omitempty"`
	Challenge   *Challenge   `json:"challenge,omitempty"`
	NextAction  string       `json:"next_action"`
	Run         string       `json:"run"`
	ProofHash   string       `json:"proof_hash,omitempty"` // of the record just made
	Message     string       `json:"message,omitempty"`
	ErrorCode   string       `json:"error_code,omitempty"`
	RetryCount  *int         `json:"retry_count,omitempty"` // in answers that say an error

	Outcome Outcome `json:"-"`
	// Cause is the error code before it became MAX_RETRIES_EXCEEDED.
	Cause string `json:"-"`
}

// CurrentStep is a step as an agent sees it.
type CurrentStep struct {
	URI      string `json:"uri"`
	Content  string `json:"content"`
	MimeType string `json:"mimeType"`
}

const (
	runComplete = "Run complete."
	completed   = "Protocol completed. No further steps."
	redirected  = "Redirected to step 1 of this protocol chain."

	adviseNonce    = "use nonce and proof_hash from THIS response's challenge"
	adviseSolution = "include solution matching challenge"
	advisePrevious = "complete previous step first"
)

// URI returns the URI of a step of the run.
func (r Run) URI(step int) string { return r.Source.StepURI(step) }

// show returns the answer that shows the present step.
func (r Run) show(outcome Outcome) Answer {
	a := Answer{MustObey: true, Run: r.ID, Outcome: outcome}
	step, ok := r.Present()
	if !ok {
		last := r.book.Steps[len(r.book.Steps)-1]
		a.CurrentStep = r.currentStep(last)
		a.Message, a.NextAction = completed, runComplete
		return a
	}
	challenge := step.handOut()
	challenge.Nonce, challenge.ProofHash = r.Issued.Nonce, r.LastHash()
	a.CurrentStep, a.Challenge = r.currentStep(step), &challenge
	a.NextAction = fmt.Sprintf("call kairos_next with %s and solution matching challenge", r.URI(r.Step))
	if r.Status == Complete {
		a.NextAction = runComplete
	}
	return a
}

// currentStep returns a step as an agent sees it: its label if it has no text.
func (r Run) currentStep(s Step) *CurrentStep {
	content := s.Body
	if content == "" {
		content = s.Label
	}
	return &CurrentStep{r.URI(s.Index), content, "text/markdown"}
}

// refusal is why a solution is not accepted.
type refusal struct {
	code, message string
	advice        string // behind the URI in next_action; empty is adviseNonce
}

// retryAction returns the next_action of an error.
func (r Run) retryAction(advice string) string {
	return fmt.Sprintf("retry kairos_next with %s -- %s", r.URI(min(r.Step, len(r.book.Steps))), advice)
}

// tell returns the answer that says an error without counting it.
func (r Run) tell(why refusal) Answer {
	a := r.show(Refused)
	failures := r.Issued.Failures
	a.Message, a.ErrorCode, a.RetryCount, a.Cause = why.message, why.code, &failures, why.code
	if r.Status != Complete {
		a.NextAction = r.retryAction(why.advice)
	}
	return a
}

// fail counts a failure of the present challenge and returns the answer that says it.
func (r *Run) fail(why refusal) Answer {
	if r.Status == Waiting {
		r.Issued.Failures++
	}
	if why.advice == "" {
		why.advice = adviseNonce
	}
	a := r.tell(why)
	if n := r.Issued.Failures; n >= maxFailures {
		a.MustObey = false
		a.ErrorCode = MaxRetriesExceeded
		a.Message = fmt.Sprintf("Step failed %d times. Use your judgment to recover.", n)
		a.NextAction = fmt.Sprintf("Options: (1) call kairos_mint with force_update to fix the step for future executions "+
			"(2) call kairos_attest with %s and outcome failure to abort (3) ask the user for help", r.URI(r.Step))
	}
	return a
}
