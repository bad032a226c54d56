package chatrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// Replies to people.
const (
	onlyApprovers    = "Only approvers can decide this."
	notOpen          = "This question is no longer open."
	skipReasonNeeded = "Why do you skip it? Send /run skip and the reason, such as /run skip done by hand."
	nothingToSkip    = "There is no step here that can be skipped or commented on now."
)

// Outcomes of questions that were not answered themselves.
const (
	alreadyDecided = "decided already"
	askedAgain     = "asked again below"
)

// Statement is a person's answer to a question about a run.
type Statement struct {
	In   channels.Incoming
	Text string // one of the options, or free text
	// Approver means that the person may decide.
	Approver bool
}

// Result is the effect of a person's answer.
type Result struct {
	// Reply is the reply to the person; "" for none.
	Reply string
	// Continue means that the run continues in a turn of the message, which is passed on as a press
	// of Press, if that is not "".
	Continue bool
	Press    string
	// Unrelated means that the text is not about the run, Refused that the person may not decide,
	// and Decided that the run was changed.
	Unrelated, Refused, Decided bool
}

// by returns the person's name in records.
func (s Statement) by() string { return s.In.Chat.Channel + ":" + s.In.User.ID }

// name returns the person's name for the chat.
func (s Statement) name() string {
	u := s.In.User
	return channels.EscapeMarkdown(channels.FirstLine(cmp.Or(u.Name, u.Username, u.ID), maxName))
}

// maxName limits a person's name, in runes.
const maxName = 80

// Answer handles a person's answer to a question about a run. It may be called again with the same
// message.
func (rb *Runbooks) Answer(ctx context.Context, q store.Question, s Statement) (Result, error) {
	run, step, _ := parseQuestion(q.ID)
	r, err := rb.o.Runs.Load(ctx, run)
	switch {
	case errors.Is(err, runbook.ErrNoRun), errors.Is(err, runbook.ErrDamaged), err == nil && runChat(r) != s.In.Chat:
		return Result{Reply: notOpen}, nil
	case err != nil:
		return Result{}, err
	case driverOf(r).Decided == q.ID:
		return rb.repeatDecided(ctx, r, q, s)
	case q.Closed:
		return Result{Reply: notOpen}, nil
	}
	result, end, err := rb.applyDecision(ctx, r, decision{q, step, s})
	switch {
	case errors.Is(err, runbook.ErrStale), errors.Is(err, runbook.ErrEnded), errors.Is(err, runbook.ErrNotRequired):
		return Result{Reply: notOpen}, rb.closeQuestion(ctx, q, alreadyDecided)
	case errors.Is(err, runbook.ErrTooSoon), errors.Is(err, runbook.ErrPeopleOnly):
		return Result{Reply: nothingToSkip}, nil
	case errors.Is(err, errUnrelated):
		return Result{Unrelated: true}, nil
	case err != nil:
		return Result{}, err
	case end == "":
		return result, rb.askAfterPress(ctx, r.ID, s)
	}
	return rb.closeDecided(ctx, r, q, end+" (by "+s.name()+")")
}

// askAfterPress repeats a question that a press has not ended, on networks where a press removes
// the buttons.
func (rb *Runbooks) askAfterPress(ctx context.Context, run string, s Statement) error {
	if s.In.Press == "" || rb.o.Outbox.KeepsButtons(s.In.Chat) {
		return nil
	}
	r, err := rb.o.Runs.Load(ctx, run)
	if err != nil || r.Status != runbook.Waiting {
		return err
	}
	return rb.askCurrentStep(ctx, r, true)
}

// closeDecided closes a question that was decided, and lets the run continue.
func (rb *Runbooks) closeDecided(ctx context.Context, r runbook.Run, q store.Question, how string) (Result, error) {
	if err := rb.closeQuestion(ctx, q, how); err != nil {
		return Result{}, err
	}
	waited := rb.decisions.notify(r.ID)
	result := Result{Decided: true}
	switch {
	case IsExecuted(r):
		result.Continue, result.Press = true, outbox.AnswerPress+q.ID
	case !waited:
		now, err := rb.o.Runs.Load(ctx, r.ID)
		if err != nil {
			return Result{}, err
		}
		if now.Status == runbook.Waiting {
			result.Reply = fmt.Sprintf("No agent is waiting for this decision. Ask it to go on with run %s.", terminal.CodeSpan(r.ID))
		}
	}
	return result, nil
}

// repeatDecided handles a question that was decided, but whose run no turn has continued yet,
// perhaps because of a crash in between. The network then delivers the message again, or the person
// presses again.
func (rb *Runbooks) repeatDecided(ctx context.Context, r runbook.Run, q store.Question, s Statement) (Result, error) {
	message := driverOf(r).Message
	known, err := rb.o.Questions.Known(ctx, s.In.Chat, message)
	if err != nil {
		return Result{}, fmt.Errorf("look up message: %w", err)
	}
	result := Result{}
	if !known || message == "" {
		if result, err = rb.closeDecided(ctx, r, q, alreadyDecided); err != nil {
			return Result{}, err
		}
	}
	if s.In.ID != message {
		result.Reply, result.Decided = notOpen, false
	}
	return result, nil
}

// errUnrelated means that a text is not about the run.
var errUnrelated = errors.New("it is not about the run")

// decision is a person's answer to a question about a step.
type decision struct {
	question store.Question
	step     int
	Statement
}

// applyAndDecide applies a transition, which also reports whether it decides the question. If so,
// the run records that.
func (rb *Runbooks) applyAndDecide(ctx context.Context, run string, s decision, transition func(runbook.Run, runbook.Env) (runbook.Run, bool, error)) error {
	_, err := rb.o.Runs.Apply(ctx, run, func(r runbook.Run, env runbook.Env) (runbook.Run, error) {
		after, decided, err := transition(r, env)
		if err != nil || !decided {
			return after, err
		}
		d := driverOf(after)
		d.Decided, d.Message = s.question.ID, s.In.ID
		after.Driver = d.encode()
		return after, nil
	})
	return err
}

// applyDecision changes a run according to a person's answer. end is how the question ended; "" if
// it is still open.
func (rb *Runbooks) applyDecision(ctx context.Context, r runbook.Run, s decision) (result Result, end string, err error) {
	present, _ := r.CurrentStep()
	word, reason, _ := strings.Cut(s.Text, " ")
	reason = strings.TrimSpace(reason)
	skips := reason != "" && strings.EqualFold(word, skipOption) && slices.Contains(s.question.Options, skipOption)
	switch isComment := present.Challenge != nil && present.Challenge.Type == runbook.Comment; {
	case slices.Contains(s.question.Options, s.Text) || skips:
		if !s.Approver {
			return Result{Reply: onlyApprovers, Refused: true}, "", nil
		}
	case isComment:
		return rb.comment(ctx, r, s)
	default:
		return Result{}, "", errUnrelated
	}
	switch s.Text {
	case approveOption:
		return rb.approve(ctx, r, s)
	case rejectOption:
		err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (runbook.Run, bool, error) {
			now, _, err := runbook.Decline(now, runbook.Refusal{Step: s.step, By: s.by(), End: true}, env)
			return now, true, err
		})
	case retryOption:
		err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, _ runbook.Env) (runbook.Run, bool, error) {
			if now.Step != s.step || now.Status != runbook.Waiting {
				return now, false, runbook.ErrStale
			}
			d := driverOf(now)
			d.Retry = true
			now.Driver = d.encode()
			return now, true, nil
		})
	case abortOption:
		err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (runbook.Run, bool, error) {
			if now.Step != s.step {
				return now, false, runbook.ErrStale
			}
			now, err := runbook.Abort(now, s.by(), "aborted", env)
			return now, true, err
		})
	default:
		return rb.skip(ctx, r, s, reason)
	}
	return Result{}, s.Text, err
}

// approve counts the approval of a person. Other people may have to approve too.
func (rb *Runbooks) approve(ctx context.Context, r runbook.Run, s decision) (result Result, end string, err error) {
	before := len(r.Approvals)
	var a runbook.Answer
	err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (after runbook.Run, decided bool, err error) {
		before = len(now.Approvals)
		after, a, err = runbook.Approve(now, runbook.Approval{Step: s.step, By: s.by()}, env)
		r = after
		return after, a.Outcome != runbook.NeedsApproval, err
	})
	switch {
	case err != nil || a.Outcome != runbook.NeedsApproval:
		return Result{}, approveOption, err
	case len(r.Approvals) == before:
		return Result{Reply: "You have approved already. Somebody else has to approve, too."}, "", nil
	}
	return Result{Reply: a.Message + " Somebody else has to approve, too.", Decided: true}, "", nil
}

// skip records that a person skips the step.
func (rb *Runbooks) skip(ctx context.Context, r runbook.Run, s decision, reason string) (result Result, end string, err error) {
	if reason == "" {
		return Result{Reply: skipReasonNeeded}, "", nil
	}
	err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (runbook.Run, bool, error) {
		now, _, err := runbook.Skip(now, runbook.SkipDecision{Step: s.step, By: s.by(), Reason: reason}, env)
		return now, true, err
	})
	return Result{}, fmt.Sprintf("%s: %s", skipOption, channels.EscapeMarkdown(channels.FirstLine(reason, maxName))), err
}

// comment proves the step with a person's text.
func (rb *Runbooks) comment(ctx context.Context, r runbook.Run, s decision) (result Result, end string, err error) {
	proof := runbook.Proof{Step: s.step, By: s.by(), Type: runbook.Comment, Value: runbook.CommentProof{Text: s.Text}}
	var a runbook.Answer
	err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (after runbook.Run, decided bool, err error) {
		after, a, err = runbook.Prove(now, proof, env)
		return after, a.Outcome == runbook.Advanced, err
	})
	if err != nil || a.Outcome == runbook.Advanced {
		return Result{}, "Commented", err
	}
	if a.Cause == runbook.CommentTooShort {
		step, _ := r.CurrentStep()
		return Result{Reply: fmt.Sprintf("The comment must have at least %g characters.", step.Challenge.MinLength)}, "", nil
	}
	return Result{Reply: a.Message}, "", nil
}
