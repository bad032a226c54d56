package chatrun

import (
	"context"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// verbLabels are the labels of the options of a question.
var verbLabels = map[runbook.Verb]words.Key{
	runbook.ToApprove: words.ButtonApprove, runbook.ToReject: words.ButtonReject,
	runbook.ToRetry: words.ButtonRetry, runbook.ToSkip: words.ButtonSkip, runbook.ToAbort: words.ButtonAbort,
}

// askCurrentStep asks for a decision about the current step of a run, unless that question is open.
// With again, an open question is repeated below later messages. admit is called before a question
// is asked; its error is returned. If the run has changed meanwhile, the error is runbook.ErrStale.
func (rb *Runbooks) askCurrentStep(ctx context.Context, r runbook.Run, again bool, admit func() error) error {
	id, ask, err := rb.prepareQuestion(ctx, r, again)
	if err == nil && ask {
		err = admit()
	}
	if err != nil || !ask {
		return err
	}
	if id == "" {
		r, err = rb.updateDriver(ctx, r.ID, func(now runbook.Run, d *driver) error {
			if now.Step != r.Step || now.Status != runbook.Waiting {
				return runbook.ErrStale
			}
			d.Asked++
			d.Question = press.RunQuestion{Run: now.ID, Step: now.Step, Number: d.Asked}.ID()
			d.Retry = false
			return nil
		})
		if err != nil {
			return err
		}
		id = driverOf(r).Question
	}
	w := rb.runWords(r)
	q := terminal.Question{ID: id, Text: questionText(w, r), Approval: true}
	step, _ := r.CurrentStep()
	for _, verb := range stepVerbs(step) {
		q.Options = append(q.Options, w.Text(verbLabels[verb]))
	}
	err = rb.o.Outbox.Ask(ctx, store.Question{Question: q, Chat: runChat(r)},
		channels.Message{Language: driverOf(r).Language})
	if err != nil || len(r.Approvals) == 0 {
		return err
	}
	asked, _, err := rb.o.Questions.Question(ctx, id)
	if err != nil {
		return err
	}
	return rb.o.Outbox.ShowState(ctx, asked, approvalsText(w, r))
}

// prepareQuestion checks the newest question of a run. It reports whether a question must be asked,
// and returns the ID of a question that was recorded but, because of a crash, not asked.
func (rb *Runbooks) prepareQuestion(ctx context.Context, r runbook.Run, again bool) (id string, ask bool, err error) {
	d := driverOf(r)
	asked, ok := press.ParseRunQuestion(d.Question)
	if !ok {
		return "", true, nil
	}
	q, found, err := rb.o.Questions.Question(ctx, d.Question)
	switch {
	case err != nil:
		return "", false, err
	case !found && asked.Step == r.Step:
		return d.Question, true, nil
	case !found || q.Closed:
		return "", true, nil
	case asked.Step == r.Step && !again:
		return "", false, nil
	}
	return "", true, rb.closeQuestion(ctx, q, rb.runWords(r).Text(words.RunAskedAgain))
}

// closeQuestion closes a question and shows in its message how it ended.
func (rb *Runbooks) closeQuestion(ctx context.Context, q store.Question, how string) error {
	_, err := rb.o.Outbox.CloseQuestion(ctx, q, how)
	return err
}

// stepVerbs returns the options of a question about a step, in the order of their numbers.
func stepVerbs(s runbook.Step) []runbook.Verb {
	if needsApproval(s) {
		return []runbook.Verb{runbook.ToApprove, runbook.ToReject}
	}
	return []runbook.Verb{runbook.ToRetry, runbook.ToSkip, runbook.ToAbort}
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
