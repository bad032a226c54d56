package chatrun

import (
	"cmp"
	"context"
	"errors"
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
	In   channels.Incoming
	Text string // what the person wrote, or the chosen option
	// Approver means that the person may decide.
	Approver bool
}

// Result is the effect of a person's answer.
type Result struct {
	// Reply is the reply to the person; "" for none.
	Reply string
	// Continue means that the run starts or continues in a turn of the message.
	Continue bool
	// Question, if it has an ID, is answered with Answer by the message, and shows Outcome then.
	Question        store.Question
	Answer, Outcome string
	// Unrelated means that the text is not about the run, Refused that the person may not decide,
	// and Approved that the person has approved, but others have to do so, too.
	Unrelated, Refused, Approved bool
}

// reply returns a text in the language of a person.
func (rb *Runbooks) reply(s Statement, k words.Key, values ...any) string {
	return rb.o.Words.For(s.In.User.Language).Text(k, values...)
}

// by returns a person's name in records.
func by(chat channels.Chat, user string) string { return chat.Channel + ":" + user }

// name returns the person's name for the chat.
func (s Statement) name() string {
	u := s.In.User
	return channels.EscapeMarkdown(channels.FirstLine(cmp.Or(u.Name, u.Username, u.ID), maxName))
}

// maxName limits a person's name, in runes.
const maxName = 80

// Answer checks a person's answer to a question about a run. An answer that decides the question
// changes nothing yet: the caller stores it with its message, and then calls Decided.
func (rb *Runbooks) Answer(ctx context.Context, q store.Question, s Statement) (Result, error) {
	asked, _ := press.ParseRunQuestion(q.ID)
	r, err := rb.o.Runs.Load(ctx, asked.Run)
	switch {
	case errors.Is(err, runbook.ErrNoRun), errors.Is(err, runbook.ErrDamaged),
		err == nil && (q.Closed || runChat(r) != s.In.Chat):
		return Result{Reply: rb.reply(s, words.QuestionClosed)}, nil
	case err != nil:
		return Result{}, err
	}
	d := parseDecision(r, q, s.Text)
	d.By, d.Name = by(s.In.Chat, s.In.User.ID), s.name()
	switch {
	case d.Verb == "":
		return Result{Unrelated: true}, nil
	case d.Verb != runbook.ToComment && !s.Approver:
		return Result{Reply: rb.reply(s, words.OnlyApprovers), Refused: true}, nil
	case d.Verb == runbook.ToSkip && d.Text == "":
		return Result{Reply: rb.reply(s, words.RunSkipReason)}, nil
	}
	after, a, err := rb.o.Runs.Preview(r, d)
	if err == nil && isUndecided(d, a) {
		after, a, err = runbook.Transition(ctx, rb.o.Runs, r.ID, runbook.Decide, d)
	}
	switch {
	case errors.Is(err, runbook.ErrStale), errors.Is(err, runbook.ErrEnded), errors.Is(err, runbook.ErrNotRequired):
		return Result{Reply: rb.reply(s, words.QuestionClosed)},
			rb.closeQuestion(ctx, q, rb.runWords(r).Text(words.RunDecided))
	case errors.Is(err, runbook.ErrTooSoon), errors.Is(err, runbook.ErrPeopleOnly):
		return Result{Reply: rb.reply(s, words.RunNothingToSkip)}, nil
	case err != nil:
		return Result{}, err
	case isUndecided(d, a):
		result := rb.undecidedResult(s, a, r, after)
		if result.Approved {
			err = rb.o.Outbox.ShowState(ctx, q, approvalsText(rb.runWords(r), after))
		}
		return result, err
	}
	names := []string{s.name()}
	if d.Verb == runbook.ToApprove {
		names = approverNames(append(slices.Clip(r.Approvals), runbook.Approved{By: d.By, Name: d.Name}))
	}
	return Result{
		Question: q, Answer: s.Text,
		Outcome:  rb.runWords(r).Text(words.AnsweredBy, rb.outcome(r, d, s.Text), strings.Join(names, ", ")),
		Continue: IsExecuted(r),
	}, nil
}

// isUndecided reports whether a question stays open after an approval or a comment.
func isUndecided(d runbook.Decision, a runbook.Answer) bool {
	return a.Outcome == runbook.NeedsApproval || d.Verb == runbook.ToComment && a.Outcome != runbook.Advanced
}

// undecidedResult replies to an approval that is not enough, or to a comment that is no proof.
func (rb *Runbooks) undecidedResult(s Statement, a runbook.Answer, before, after runbook.Run) Result {
	step, _ := before.CurrentStep()
	switch {
	case a.Outcome != runbook.NeedsApproval && a.Cause == runbook.CommentTooShort:
		return Result{Reply: rb.reply(s, words.RunCommentShort, formatNumber(step.Challenge.MinLength))}
	case a.Outcome != runbook.NeedsApproval:
		return Result{Reply: rb.reply(s, words.RunCommentRefused)}
	case len(after.Approvals) == len(before.Approvals):
		return Result{Reply: rb.reply(s, words.RunApprovedAlready)}
	}
	return Result{Reply: rb.reply(s, words.RunApprovals, len(after.Approvals), step.Challenge.Approvals), Approved: true}
}

// approverNames returns the names of the people who have approved.
func approverNames(all []runbook.Approved) (names []string) {
	for _, a := range all {
		names = append(names, cmp.Or(a.Name, channels.EscapeMarkdown(a.By)))
	}
	return names
}

// approvalsText says who has approved the current step of a run so far.
func approvalsText(w words.Words, r runbook.Run) string {
	step, _ := r.CurrentStep()
	return w.Text(words.RunApprovedBy, len(r.Approvals), step.Challenge.Approvals,
		strings.Join(approverNames(r.Approvals), ", "))
}

// outcome returns how a question was answered: by an option, unless the person wrote a text.
func (rb *Runbooks) outcome(r runbook.Run, d runbook.Decision, option string) string {
	switch d.Verb {
	case runbook.ToSkip:
		return rb.runWords(r).Text(words.RunSkipped, channels.EscapeMarkdown(channels.FirstLine(d.Text, maxName)))
	case runbook.ToComment:
		return rb.runWords(r).Text(words.RunCommented)
	default:
		return option
	}
}

// parseDecision returns what an answer decides; without a verb, it is about something else. A
// question keeps the labels with which it was asked, so the option is found by its number, whatever
// its label.
func parseDecision(r runbook.Run, q store.Question, answer string) runbook.Decision {
	asked, _ := press.ParseRunQuestion(q.ID)
	d := runbook.Decision{Step: asked.Step}
	steps := r.Runbook().Steps
	if asked.Step < 1 || asked.Step > len(steps) {
		return d
	}
	step := steps[asked.Step-1]
	verbs := stepVerbs(step)
	if n := terminal.OptionNumber(q.Options, answer); n > 0 && n <= len(verbs) {
		d.Verb = verbs[n-1]
		return d
	}
	// The label and a reason, as in "Skip done by hand".
	if skip := slices.Index(verbs, runbook.ToSkip); skip >= 0 && skip < len(q.Options) {
		label := q.Options[skip] + " "
		if len(answer) > len(label) && strings.EqualFold(answer[:len(label)], label) {
			d.Verb, d.Text = runbook.ToSkip, strings.TrimSpace(answer[len(label):])
			return d
		}
	}
	if step.Challenge != nil && step.Challenge.Type == runbook.Comment {
		d.Verb, d.Text = runbook.ToComment, answer
	}
	return d
}

// Decided is called when a question about a run was answered. It returns a notice to the person in
// a language, or "".
func (rb *Runbooks) Decided(ctx context.Context, question, language string) (notice string, err error) {
	asked, _ := press.ParseRunQuestion(question)
	r, err := rb.o.Runs.Load(ctx, asked.Run)
	if err == nil {
		r, err = rb.applyAnswer(ctx, r)
	}
	waited := rb.decisions.Deliver(asked.Run, struct{}{})
	if err != nil || waited || IsExecuted(r) || r.Status != runbook.Waiting {
		return "", err
	}
	return rb.o.Words.For(language).Text(words.RunNoAgentWaits, terminal.CodeSpan(r.ID)), nil
}

// applyAnswer changes a run according to the answer to its newest question, unless that was done or
// somebody else has changed the run since.
func (rb *Runbooks) applyAnswer(ctx context.Context, r runbook.Run) (runbook.Run, error) {
	id := driverOf(r).Question
	q, found, err := rb.o.Questions.Question(ctx, id)
	if err != nil || !found || q.Answer == nil {
		return r, err
	}
	decision := parseDecision(r, q, *q.Answer)
	decision.By = by(q.Chat, q.By)
	return rb.o.Runs.Apply(ctx, r.ID, func(now runbook.Run, env runbook.Env) (runbook.Run, error) {
		d := driverOf(now)
		if d.Question != id {
			return now, nil
		}
		d.Question, d.Retry = "", false
		if after, _, err := runbook.Decide(now, decision, env); err == nil {
			now, d.Retry = after, decision.Verb == runbook.ToRetry
		}
		now.Driver = d.encode()
		return now, nil
	})
}
