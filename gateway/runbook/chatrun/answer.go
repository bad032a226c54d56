package chatrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Statement is a person's answer to a question about a run.
type Statement struct {
	In channels.Incoming
	// Text is what the person wrote. Option is the number of the chosen option, from 1; 0: the text
	// is none of the options.
	Text   string
	Option int
	// Approver means that the person may decide.
	Approver bool
	// skips means that the text is the reason of /run skip; "" if the person gave none.
	skips bool
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

// reply returns a text in the language of a person.
func (rb *Runbooks) reply(s Statement, k words.Key, values ...any) string {
	return rb.o.Words.For(s.In.User.Language).Text(k, values...)
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
	asked, _ := press.ParseRunQuestion(q.ID)
	r, err := rb.o.Runs.Load(ctx, asked.Run)
	switch {
	case errors.Is(err, runbook.ErrNoRun), errors.Is(err, runbook.ErrDamaged), err == nil && runChat(r) != s.In.Chat:
		return Result{Reply: rb.reply(s, words.QuestionClosed)}, nil
	case err != nil:
		return Result{}, err
	case driverOf(r).Decided == q.ID:
		return rb.repeatDecided(ctx, r, q, s)
	case q.Closed:
		return Result{Reply: rb.reply(s, words.QuestionClosed)}, nil
	}
	result, end, err := rb.applyDecision(ctx, r, decision{q, asked.Step, s})
	switch {
	case errors.Is(err, runbook.ErrStale), errors.Is(err, runbook.ErrEnded), errors.Is(err, runbook.ErrNotRequired):
		return Result{Reply: rb.reply(s, words.QuestionClosed)},
			rb.closeQuestion(ctx, q, rb.runWords(r).Text(words.RunDecided))
	case errors.Is(err, runbook.ErrTooSoon), errors.Is(err, runbook.ErrPeopleOnly):
		return Result{Reply: rb.reply(s, words.RunNothingToSkip)}, nil
	case errors.Is(err, errUnrelated):
		return Result{Unrelated: true}, nil
	case err != nil:
		return Result{}, err
	case end == "":
		return result, nil
	}
	return rb.closeDecided(ctx, r, q, decided{s, rb.runWords(r).Text(words.AnsweredBy, end, s.name())})
}

// decided is a person's statement that decided a question, and the outcome that the question shows.
type decided struct {
	Statement
	outcome string
}

// closeDecided closes a question that was decided, and lets the run continue.
func (rb *Runbooks) closeDecided(ctx context.Context, r runbook.Run, q store.Question, d decided) (Result, error) {
	if err := rb.closeQuestion(ctx, q, d.outcome); err != nil {
		return Result{}, err
	}
	waited := rb.decisions.Deliver(r.ID, struct{}{})
	result := Result{Decided: true}
	switch {
	case IsExecuted(r):
		result.Continue, result.Press = true, press.Decided(q.ID)
	case !waited:
		now, err := rb.o.Runs.Load(ctx, r.ID)
		if err != nil {
			return Result{}, err
		}
		if now.Status == runbook.Waiting {
			result.Reply = rb.reply(d.Statement, words.RunNoAgentWaits, terminal.CodeSpan(r.ID))
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
		if result, err = rb.closeDecided(ctx, r, q, decided{s, rb.runWords(r).Text(words.RunDecided)}); err != nil {
			return Result{}, err
		}
	}
	if s.In.ID != message {
		result.Reply, result.Decided = rb.reply(s, words.QuestionClosed), false
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
func (rb *Runbooks) applyAndDecide(ctx context.Context, run string, s decision,
	transition func(runbook.Run, runbook.Env) (runbook.Run, bool, error),
) error {
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
func (rb *Runbooks) applyDecision(ctx context.Context, r runbook.Run, s decision) (result Result, end string,
	err error,
) {
	present, _ := r.CurrentStep()
	option, reason := s.chosenOption(r)
	switch isComment := present.Challenge != nil && present.Challenge.Type == runbook.Comment; {
	case option != "":
		if !s.Approver {
			return Result{Reply: rb.reply(s.Statement, words.OnlyApprovers), Refused: true}, "", nil
		}
	case isComment:
		return rb.comment(ctx, r, s)
	default:
		return Result{}, "", errUnrelated
	}
	switch option {
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
			now, err := runbook.Abort(now, s.by(), abortedReason, env)
			return now, true, err
		})
	default:
		return rb.skip(ctx, r, s, reason)
	}
	return Result{}, s.question.Options[s.Option-1], err
}

// abortedReason is the reason in the records of a run that a person aborted.
const abortedReason = "aborted"

// chosenOption returns the option that a person has chosen, and the reason of a person who skips
// the step; "": the text is about something else. A question keeps the labels with which it was
// asked, so the option is found by its number, whatever its label.
func (s decision) chosenOption(r runbook.Run) (option words.Key, reason string) {
	steps := r.Runbook().Steps
	if s.step < 1 || s.step > len(steps) {
		return "", ""
	}
	options := stepOptions(steps[s.step-1])
	skip := slices.Index(options, skipOption)
	switch {
	case s.skips && skip >= 0:
		return skipOption, s.Text
	case s.skips:
		return "", ""
	case s.Option >= 1 && s.Option <= min(len(options), len(s.question.Options)):
		return options[s.Option-1], ""
	case skip >= 0 && skip < len(s.question.Options):
		// The label and a reason, as in "Skip done by hand".
		label := s.question.Options[skip] + " "
		if len(s.Text) > len(label) && strings.EqualFold(s.Text[:len(label)], label) {
			reason = strings.TrimSpace(s.Text[len(label):])
		}
		if reason != "" {
			return skipOption, reason
		}
	}
	return "", ""
}

// approve counts the approval of a person. Other people may have to approve too.
func (rb *Runbooks) approve(ctx context.Context, r runbook.Run, s decision) (result Result, end string, err error) {
	before, step := len(r.Approvals), r.Runbook().Steps[s.step-1]
	needed := step.Challenge.Approvals
	var a runbook.Answer
	err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (after runbook.Run, decided bool,
		err error,
	) {
		before = len(now.Approvals)
		after, a, err = runbook.Approve(now, runbook.Approval{Step: s.step, By: s.by()}, env)
		r = after
		return after, a.Outcome != runbook.NeedsApproval, err
	})
	switch {
	case err != nil || a.Outcome != runbook.NeedsApproval:
		return Result{}, s.question.Options[s.Option-1], err
	case len(r.Approvals) == before:
		return Result{Reply: rb.reply(s.Statement, words.RunApprovedAlready)}, "", nil
	}
	return Result{Reply: rb.reply(s.Statement, words.RunApprovals, len(r.Approvals), needed), Decided: true}, "", nil
}

// skip records that a person skips the step.
func (rb *Runbooks) skip(ctx context.Context, r runbook.Run, s decision, reason string) (result Result, end string,
	err error,
) {
	if reason == "" {
		return Result{Reply: rb.reply(s.Statement, words.RunSkipReason)}, "", nil
	}
	err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (runbook.Run, bool, error) {
		now, _, err := runbook.Skip(now, runbook.SkipDecision{Step: s.step, By: s.by(), Reason: reason}, env)
		return now, true, err
	})
	return Result{}, rb.runWords(r).Text(words.RunSkipped, channels.EscapeMarkdown(channels.FirstLine(reason, maxName))),
		err
}

// comment proves the step with a person's text.
func (rb *Runbooks) comment(ctx context.Context, r runbook.Run, s decision) (result Result, end string, err error) {
	proof := runbook.Proof{Step: s.step, By: s.by(), Type: runbook.Comment, Value: runbook.CommentProof{Text: s.Text}}
	var a runbook.Answer
	err = rb.applyAndDecide(ctx, r.ID, s, func(now runbook.Run, env runbook.Env) (after runbook.Run, decided bool,
		err error,
	) {
		after, a, err = runbook.Prove(now, proof, env)
		return after, a.Outcome == runbook.Advanced, err
	})
	if err != nil || a.Outcome == runbook.Advanced {
		return Result{}, rb.runWords(r).Text(words.RunCommented), err
	}
	if a.Cause == runbook.CommentTooShort {
		step, _ := r.CurrentStep()
		return Result{Reply: rb.reply(s.Statement, words.RunCommentShort, formatNumber(step.Challenge.MinLength))}, "", nil
	}
	return Result{Reply: rb.reply(s.Statement, words.RunCommentRefused)}, "", nil
}
