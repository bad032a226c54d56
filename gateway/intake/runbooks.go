package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/choice"
	"nanobot/gateway/press"
	"nanobot/gateway/runbook/chatrun"
	"nanobot/gateway/store"
	"nanobot/internal/role"
	"nanobot/internal/words"
)

// Runbooks are the runbooks that people can run in their chats.
type Runbooks interface {
	// Available reports whether there are any runbooks.
	Available() bool
	// List returns a text in a language about all runbooks, and the names of those that can be run.
	List(language string) (text string, runnable []string)
	// Command carries out /run with the text after it.
	Command(ctx context.Context, s chatrun.Statement) (chatrun.Result, error)
	// Answer handles a person's answer to a question about a run.
	Answer(ctx context.Context, q store.Question, s chatrun.Statement) (chatrun.Result, error)
	// Decided is called when a question about a run was answered. It returns a notice to the person
	// in a language, or "".
	Decided(ctx context.Context, question, language string) (notice string, err error)
}

// runbooks carries out /runbooks.
func (c commandCall) runbooks(context.Context) (string, error) {
	text, names := c.o.Runbooks.List(c.in.User.Language)
	for _, name := range names[:min(len(names), maxButtons)] {
		if data := press.Type("/" + choice.CommandRun + " " + name); data != "" {
			c.reply.Buttons = append(c.reply.Buttons, channels.Button{Label: c.text(words.ButtonRun, name), Data: data})
		}
	}
	return text, nil
}

// runRunbook carries out /run. A run that starts or continues gets a turn.
func (i *Intake) runRunbook(ctx context.Context, in channels.Incoming, args string) error {
	if known, err := i.storeDuplicate(ctx, in); known || err != nil {
		return err
	}
	s, err := i.newStatement(ctx, in, args)
	if err != nil {
		return err
	}
	result, err := i.o.Runbooks.Command(ctx, s)
	if err != nil {
		return err
	}
	decision := audit.Allowed
	if result.Refused {
		decision = audit.Unentitled
	}
	i.o.Audit.Record(in, audit.Record{
		Event: audit.Command, Decision: decision, Command: "/" + choice.CommandRun,
		Text: in.Text,
	})
	return i.continueRun(ctx, in, result)
}

// newStatement returns a person's statement about a run.
func (i *Intake) newStatement(ctx context.Context, in channels.Incoming, text string) (chatrun.Statement, error) {
	may, err := i.o.Access.MayDecideRuns(ctx, sender(in))
	return chatrun.Statement{In: in, Text: text, Approver: may}, err
}

// answerRun handles a message that may answer a question about a run. It reports whether it did.
func (i *Intake) answerRun(ctx context.Context, in channels.Incoming, q store.Question) (bool, error) {
	if known, err := i.storeDuplicate(ctx, in); known || err != nil {
		return true, err
	}
	if refused, err := i.refuseAction(ctx, in, role.CommentRun); refused || err != nil {
		return true, err
	}
	if err := i.keepAgent(ctx, &in, q.Inbound); err != nil {
		return true, err
	}
	if option := optionNumber(q, in); option > 0 {
		in.Text = q.Options[option-1] // the history contains the labels of buttons, too
	}
	s, err := i.newStatement(ctx, in, in.Text)
	if err != nil {
		return true, err
	}
	result, err := i.o.Runbooks.Answer(ctx, q, s)
	if err != nil || result.Unrelated {
		return err != nil, err
	}
	switch {
	case result.Refused:
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Unentitled, Question: q.ID})
	case result.Approved:
		i.auditRunAnswer(in, q)
	}
	return true, i.continueRun(ctx, in, result)
}

// auditRunAnswer records what a message decides about a run.
func (i *Intake) auditRunAnswer(in channels.Incoming, q store.Question) {
	q.Answer = &in.Text
	i.auditAnswer(in, q)
}

// storeDuplicate stores a message that the network has delivered again. It must not be carried out
// again, since other questions may be open by now. It reports whether the message was a duplicate.
func (i *Intake) storeDuplicate(ctx context.Context, in channels.Incoming) (bool, error) {
	if known, err := i.isKnown(ctx, in); !known || err != nil {
		return false, err
	}
	return true, i.storeWithoutTurn(ctx, in, store.ByCommand, "")
}

// continueRun stores a message about a run, with the answer that it gives to a question, or gives
// it a turn in which the run continues.
func (i *Intake) continueRun(ctx context.Context, in channels.Incoming, result chatrun.Result) error {
	set := i.o.Settings()
	set.WhileRunning, set.QueueLimit = Queue, 0
	q := result.Question
	if q.ID == "" && !result.Continue {
		return i.storeWithoutTurn(ctx, in, store.ByCommand, result.Reply)
	}
	open, err := i.o.Store.OpenQuestions(ctx, in.Chat)
	if err != nil {
		return fmt.Errorf("read open questions: %w", err)
	}
	if q.ID == "" {
		return i.enqueueMessage(ctx, in, set, open)
	}
	request := store.ReceiveRequest{
		In: in, Settle: !result.Continue, Reason: store.ByAnswer,
		Reply: &store.Reply{Question: q.ID, Text: result.Answer, By: in.User.ID, Turn: result.Continue},
	}
	var received store.ReceiveResult
	if result.Continue {
		request.In.Press = press.Decided(q.ID)
		received, err = i.enqueueOrDrop(ctx, request, in, set, open)
	} else {
		received, err = i.acceptMessage(ctx, request)
	}
	if err != nil {
		return err
	}
	if !received.Replied {
		if received.Disposition == store.Duplicate {
			return nil
		}
		return i.postNotice(ctx, in, i.words(in).Text(words.QuestionClosed))
	}
	i.auditRunAnswer(in, q)
	i.o.Outbox.ShowOutcome(q, result.Outcome)
	notice, err := i.o.Runbooks.Decided(ctx, q.ID, in.User.Language)
	if err != nil || notice == "" {
		return err
	}
	return i.postNotice(ctx, in, notice)
}
