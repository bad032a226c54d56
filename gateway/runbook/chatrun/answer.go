package chatrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
)

// What people are told.
const (
	onlyApprovers = "Only approvers can decide this."
	notOpen       = "This question is not open any more."
	reasonNeeded  = "Why is it skipped? Send /run skip and the reason, such as /run skip done by hand."
	nothingWaits  = "No run waits for that."
)

// Said is what a person says to a question about a run.
type Said struct {
	In   channels.Incoming
	Text string // one of the options, or words of their own
	// Approver says that the person may decide.
	Approver bool
}

// Result is what follows from what a person said.
type Result struct {
	// Reply is what the person is told; "": nothing.
	Reply string
	// GoOn says that the run goes on in a turn of the message, which is then handed on as a press
	// of Press, if that is not "".
	GoOn  bool
	Press string
	// NotMeant says that the words have nothing to do with the run, Refused that the person may not
	// decide, and Decided that the run was changed.
	NotMeant, Refused, Decided bool
}

// by names the person in records.
func (s Said) by() string { return s.In.Chat.Channel + ":" + s.In.User.ID }

// name is what the person is called in the chat.
func (s Said) name() string {
	u := s.In.User
	return channels.Literal(channels.FirstLine(cmp.Or(u.Name, u.Username, u.ID), longestName))
}

// longestName bounds what is shown of a person's name, in runes.
const longestName = 80

// Answer carries out what a person says to a question about a run. It may be called again with the
// same message.
func (b *Runbooks) Answer(ctx context.Context, q store.Question, s Said) (Result, error) {
	run, step, _ := parseQuestion(q.ID)
	r, err := b.o.Runs.Load(ctx, run)
	switch {
	case errors.Is(err, runbook.ErrNoRun), errors.Is(err, runbook.ErrDamaged), err == nil && chatOf(r) != s.In.Chat:
		return Result{Reply: notOpen}, nil
	case err != nil:
		return Result{}, err
	case q.Closed && IsExecuted(r) && driverOf(r).Question == q.ID && !driverOf(r).Reported:
		// It was decided by this message, perhaps, and a crash came between.
		return Result{GoOn: true, Press: outbox.AnswerPress + q.ID}, nil
	case q.Closed:
		return Result{Reply: notOpen}, nil
	}
	result, end, err := b.carryOut(ctx, r, step, s)
	switch {
	case errors.Is(err, runbook.ErrStale), errors.Is(err, runbook.ErrEnded), errors.Is(err, runbook.ErrNotAsked):
		return Result{Reply: notOpen}, b.closeQuestion(ctx, q, "decided")
	case errors.Is(err, runbook.ErrTooSoon):
		return Result{Reply: "A step can be skipped after three failures."}, nil
	case errors.Is(err, errNotMeant):
		return Result{NotMeant: true}, nil
	case err != nil || end == "":
		return result, err
	}
	if err := b.closeQuestion(ctx, q, end+" (by "+s.name()+")"); err != nil {
		return Result{}, err
	}
	b.changes.tell(r.ID)
	result.Decided = true
	if IsExecuted(r) {
		result.GoOn, result.Press = true, outbox.AnswerPress+q.ID
	}
	return result, nil
}

// errNotMeant is that somebody's words have nothing to do with a run.
var errNotMeant = errors.New("it is not about the run")

// carryOut changes a run as a person says. end is how the question ended; "": it is still open.
func (b *Runbooks) carryOut(ctx context.Context, r runbook.Run, step int, s Said) (result Result, end string, err error) {
	present, _ := r.Present()
	word, reason, _ := strings.Cut(s.Text, " ")
	reason = strings.TrimSpace(reason)
	skips := reason != "" && strings.EqualFold(word, skip)
	switch isComment := present.Challenge != nil && present.Challenge.Type == runbook.Comment; {
	case s.Text == approve || s.Text == reject || s.Text == retry || s.Text == skip || s.Text == abort || skips:
		if !s.Approver {
			return Result{Reply: onlyApprovers, Refused: true}, "", nil
		}
	case isComment:
		return b.comment(ctx, r, step, s)
	default:
		return Result{}, "", errNotMeant
	}
	switch s.Text {
	case approve:
		return b.approve(ctx, r, step, s)
	case reject:
		_, _, err = b.o.Runs.Decline(ctx, r.ID, runbook.Refusal{Step: step, By: s.by(), End: true})
	case retry:
		_, err = b.update(ctx, r.ID, func(now runbook.Run, d *driver) error {
			if now.Step != step || now.Status != runbook.Waiting {
				return runbook.ErrStale
			}
			d.Retry = true
			return nil
		})
	case abort:
		_, err = b.o.Runs.Apply(ctx, r.ID, func(now runbook.Run, env runbook.Env) (runbook.Run, error) {
			if now.Step != step {
				return now, runbook.ErrStale
			}
			return runbook.Abort(now, s.by(), "aborted", env)
		})
	default:
		return b.skip(ctx, r, step, s, reason)
	}
	return Result{}, s.Text, err
}

// approve counts the approval of a person. If somebody else has to approve, too, they are asked.
func (b *Runbooks) approve(ctx context.Context, r runbook.Run, step int, s Said) (result Result, end string, err error) {
	before := len(r.Approvals)
	r, a, err := b.o.Runs.Approve(ctx, r.ID, runbook.Approval{Step: step, By: s.by()})
	switch {
	case err != nil || a.Outcome != runbook.NeedsApproval:
		return Result{}, approve, err
	case len(r.Approvals) == before:
		return Result{Reply: "You have approved already. Somebody else has to approve, too."}, "", nil
	}
	return Result{Reply: a.Message + " Somebody else has to approve, too.", Decided: true}, "", nil
}

// skip records that a person skips the step.
func (b *Runbooks) skip(ctx context.Context, r runbook.Run, step int, s Said, reason string) (result Result, end string, err error) {
	if reason == "" {
		return Result{Reply: reasonNeeded}, "", nil
	}
	_, _, err = b.o.Runs.Skip(ctx, r.ID, runbook.Skipping{Step: step, By: s.by(), Reason: reason})
	return Result{}, fmt.Sprintf("%s: %s", skip, channels.Literal(channels.FirstLine(reason, longestName))), err
}

// comment proves the step with what a person wrote.
func (b *Runbooks) comment(ctx context.Context, r runbook.Run, step int, s Said) (result Result, end string, err error) {
	proof := runbook.Proof{Step: step, By: s.by(), Type: runbook.Comment, Value: runbook.CommentProof{Text: s.Text}}
	_, a, err := b.o.Runs.Prove(ctx, r.ID, proof)
	if err != nil || a.Outcome == runbook.Advanced {
		return Result{}, "Commented", err
	}
	if a.Cause == runbook.CommentTooShort {
		step, _ := r.Present()
		return Result{Reply: fmt.Sprintf("The comment must have at least %g characters.", step.Challenge.MinLength)}, "", nil
	}
	return Result{Reply: a.Message}, "", nil
}
