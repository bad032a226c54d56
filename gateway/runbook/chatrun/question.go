package chatrun

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// questionPrefix is the prefix of question IDs about runs. The run, the number of the step and the
// number of the question follow.
const questionPrefix = "run."

// The options of a question.
const (
	approveOption = words.ButtonApprove
	rejectOption  = words.ButtonReject
	retryOption   = words.ButtonRetry
	skipOption    = words.ButtonSkip
	abortOption   = words.ButtonAbort
)

// IsQuestion reports whether a question is about a run, by its ID.
func (rb *Runbooks) IsQuestion(question string) bool {
	return strings.HasPrefix(question, questionPrefix)
}

func questionID(run string, step, n int) string {
	return fmt.Sprintf("%s%s.%d.%d", questionPrefix, run, step, n)
}

// parseQuestion returns the run and the step of a question.
func parseQuestion(id string) (run string, step int, ok bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 4 || parts[0]+"." != questionPrefix {
		return "", 0, false
	}
	step, err := strconv.Atoi(parts[2])
	return parts[1], step, err == nil
}

// askCurrentStep asks for a decision about the current step of a run, unless that question is open.
// With again, an open question is repeated below later messages. If the run has changed meanwhile,
// it returns runbook.ErrStale.
func (rb *Runbooks) askCurrentStep(ctx context.Context, r runbook.Run, again bool) error {
	id, ask, err := rb.prepareQuestion(ctx, r, again)
	if err != nil || !ask {
		return err
	}
	if id == "" {
		r, err = rb.updateDriver(ctx, r.ID, func(now runbook.Run, d *driver) error {
			if now.Step != r.Step || now.Status != runbook.Waiting {
				return runbook.ErrStale
			}
			d.Asked++
			d.Question = questionID(now.ID, now.Step, d.Asked)
			d.Retry = false
			return nil
		})
		if err != nil {
			return err
		}
		id = driverOf(r).Question
	}
	w := rb.runWords(r)
	q := outbox.Question{Question: store.Question{ID: id, Chat: runChat(r), Text: questionText(w, r), Approval: true}, Language: driverOf(r).Language}
	step, _ := r.CurrentStep()
	for _, option := range stepOptions(step) {
		q.Options = append(q.Options, w.Text(option))
	}
	return rb.o.Outbox.Ask(ctx, q)
}

// prepareQuestion checks the newest question of a run. It reports whether a question must be asked,
// and returns the ID of a question that was recorded but, because of a crash, not asked.
func (rb *Runbooks) prepareQuestion(ctx context.Context, r runbook.Run, again bool) (id string, ask bool, err error) {
	d := driverOf(r)
	_, step, ok := parseQuestion(d.Question)
	if !ok {
		return "", true, nil
	}
	q, found, err := rb.o.Questions.Question(ctx, d.Question)
	switch {
	case err != nil:
		return "", false, err
	case !found && step == r.Step:
		return d.Question, true, nil
	case !found || q.Closed:
		return "", true, nil
	case step == r.Step && !again:
		return "", false, nil
	}
	return "", true, rb.closeQuestion(ctx, q, rb.runWords(r).Text(words.RunAskedAgain))
}

// closeQuestion closes a question and shows in its message how it ended.
func (rb *Runbooks) closeQuestion(ctx context.Context, q store.Question, how string) error {
	closed, err := rb.o.Questions.Withdraw(ctx, q.ID)
	if err == nil && closed {
		rb.o.Outbox.ShowOutcome(q, how)
	}
	return err
}

// stepOptions returns the options of a question about a step, in the order of their numbers.
func stepOptions(s runbook.Step) []words.Key {
	if needsApproval(s) {
		return []words.Key{approveOption, rejectOption}
	}
	return []words.Key{retryOption, skipOption, abortOption}
}

// needsApproval reports whether a step is proved by people's approval.
func needsApproval(s runbook.Step) bool {
	return s.Challenge != nil && s.Challenge.Type == runbook.UserInput
}

// runChat returns the chat of a run.
func runChat(r runbook.Run) channels.Chat {
	channel, id, _ := strings.Cut(r.Chat, ":")
	return channels.Chat{Channel: channel, ID: id}
}
