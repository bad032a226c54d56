package runbook

import "cmp"

// Verb is what a person decides about a step.
type Verb string

// The verbs of people.
const (
	ToApprove Verb = "approve"
	ToReject  Verb = "reject"
	ToComment Verb = "comment"
	ToRetry   Verb = "retry"
	ToSkip    Verb = "skip"
	ToAbort   Verb = "abort"
)

// Aborted is the reason in the records of a run that a person aborted without giving one.
const Aborted = "aborted"

// Decision is a person's decision about a step. Text is the comment, or why a step is skipped or a
// run aborted.
type Decision struct {
	Step int
	By   string // channel:id
	Name string // of the person, for display
	Verb Verb
	Text string
}

// Decide changes a run as a person has decided. A retry changes nothing: the step is proved again.
func Decide(r Run, d Decision, env Env) (Run, Answer, error) {
	switch d.Verb {
	case ToApprove:
		return Approve(r, Approval{Step: d.Step, By: d.By, Name: d.Name}, env)
	case ToReject:
		return Decline(r, Refusal{Step: d.Step, By: d.By, End: true}, env)
	case ToComment:
		return Prove(r, Proof{Step: d.Step, By: d.By, Type: Comment, Value: CommentProof{d.Text}}, env)
	case ToSkip:
		return Skip(r, SkipDecision{Step: d.Step, By: d.By, Reason: d.Text}, env)
	case ToRetry, ToAbort:
	}
	_, err := r.openStep(d.Step)
	if err == nil && d.Verb == ToAbort {
		r, err = Abort(r, d.By, cmp.Or(d.Text, Aborted), env)
	}
	return r, Answer{}, err
}

// Preview returns what Decide would make of a run now.
func (rs Runs) Preview(r Run, d Decision) (Run, Answer, error) { return Decide(r, d, rs.env()) }
