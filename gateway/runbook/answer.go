package runbook

import "fmt"

// The error codes of answers.
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

// Outcome is the effect of a transition.
type Outcome int

const (
	// Shown means that the answer only shows the current step.
	Shown Outcome = iota
	// Advanced means that a step was accepted.
	Advanced
	// Repeated means that the same solution was accepted before.
	Repeated
	// Refused means that the answer has an error.
	Refused
	// NeedsPerson means that the solution is correct so far, but the people of the run's chat must
	// approve.
	NeedsPerson
	// NeedsConfirmation means that only a confirmation is missing. A caller that can ask the person
	// may do so instead of storing the run with the failure.
	NeedsConfirmation
	// NeedsApproval means that the approval was counted and more are needed.
	NeedsApproval
)

// Answer is the result of a transition, in the form of the tools kairos_begin and kairos_next.
type Answer struct {
	MustObey    bool         `json:"must_obey"`
	CurrentStep *CurrentStep `json:"current_step,omitempty"`
	Challenge   *Challenge   `json:"challenge,omitempty"`
	NextAction  string       `json:"next_action"`
	Run         string       `json:"run"`
	ProofHash   string       `json:"proof_hash,omitempty"` // of the new record
	Message     string       `json:"message,omitempty"`
	ErrorCode   string       `json:"error_code,omitempty"`
	RetryCount  *int         `json:"retry_count,omitempty"` // only in answers with an error

	Outcome Outcome `json:"-"`
	// Cause is the error code before it was replaced by MAX_RETRIES_EXCEEDED.
	Cause string `json:"-"`
}

// CurrentStep is a step as shown to an agent.
type CurrentStep struct {
	URI      string `json:"uri"`
	Content  string `json:"content"`
	MimeType string `json:"mimeType"`
}

const (
	runComplete       = "Run complete."
	completedMessage  = "Protocol completed. No further steps."
	redirectedMessage = "Redirected to step 1 of this protocol chain."

	retryWithNonce    = "use nonce and proof_hash from THIS response's challenge"
	retryWithSolution = "include solution matching challenge"
	completePrevious  = "complete previous step first"
)

// URI returns the URI of a step of the run.
func (r Run) URI(step int) string { return r.Source.StepURI(step) }

// showAnswer returns the answer that shows the current step.
func (r Run) showAnswer(outcome Outcome) Answer {
	a := Answer{MustObey: true, Run: r.ID, Outcome: outcome}
	step, ok := r.CurrentStep()
	if !ok {
		last := r.book.Steps[len(r.book.Steps)-1]
		a.CurrentStep = r.stepView(last)
		a.Message, a.NextAction = completedMessage, runComplete
		return a
	}
	challenge := step.challenge()
	challenge.Nonce, challenge.ProofHash = r.Issued.Nonce, r.LastHash()
	a.CurrentStep, a.Challenge = r.stepView(step), &challenge
	a.NextAction = fmt.Sprintf("call kairos_next with %s and solution matching challenge", r.URI(r.Step))
	if r.Status == Complete {
		a.NextAction = runComplete
	}
	return a
}

// stepView returns a step as shown to an agent: its text, or its label if it has no text.
func (r Run) stepView(s Step) *CurrentStep {
	content := s.Body
	if content == "" {
		content = s.Label
	}
	return &CurrentStep{r.URI(s.Index), content, "text/markdown"}
}

// refusal is the reason why a solution is not accepted.
type refusal struct {
	code, message string
	nextAction    string // follows the URI in next_action; "" means retryWithNonce
}

// retryAction returns the next_action of an error.
func (r Run) retryAction(advice string) string {
	return fmt.Sprintf("retry kairos_next with %s -- %s", r.URI(min(r.Step, len(r.book.Steps))), advice)
}

// errorAnswer returns an answer with an error that is not counted as a failure.
func (r Run) errorAnswer(why refusal) Answer {
	a := r.showAnswer(Refused)
	failures := r.Issued.Failures
	a.Message, a.ErrorCode, a.RetryCount, a.Cause = why.message, why.code, &failures, why.code
	if r.Status != Complete {
		a.NextAction = r.retryAction(why.nextAction)
	}
	return a
}

// failAnswer counts a failure of the current challenge and returns the answer with the error.
func (r *Run) failAnswer(why refusal) Answer {
	if r.Status == Waiting {
		r.Issued.Failures++
	}
	if why.nextAction == "" {
		why.nextAction = retryWithNonce
	}
	a := r.errorAnswer(why)
	if n := r.Issued.Failures; n >= maxFailures {
		a.MustObey = false
		a.ErrorCode = MaxRetriesExceeded
		a.Message = fmt.Sprintf("Step failed %d times. Use your judgment to recover.", n)
		a.NextAction = fmt.Sprintf("Options: (1) call kairos_mint with force_update to fix the step for future executions "+
			"(2) call kairos_attest with %s and outcome failure to abort (3) ask the user for help", r.URI(r.Step))
	}
	return a
}
