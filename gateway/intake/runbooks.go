package intake

import (
	"context"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/choice"
	"nanobot/gateway/press"
	"nanobot/gateway/runbook/chatrun"
	"nanobot/gateway/store"
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
	result, err := i.o.Runbooks.Command(ctx, i.newStatement(in, args))
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
func (i *Intake) newStatement(in channels.Incoming, text string) chatrun.Statement {
	return chatrun.Statement{In: in, Text: text, Approver: i.o.Access.MayDecideRuns(in.Chat.Channel, in.User.ID)}
}

// answerRun handles a message that may answer a question about a run. It reports whether it did.
func (i *Intake) answerRun(ctx context.Context, in channels.Incoming, q store.Question) (bool, error) {
	if known, err := i.storeDuplicate(ctx, in); known || err != nil {
		return true, err
	}
	text, option := in.Text, optionNumber(q, in)
	if option > 0 {
		text = q.Options[option-1]
	}
	s := i.newStatement(in, text)
	s.Option = option
	result, err := i.o.Runbooks.Answer(ctx, q, s)
	if err != nil || result.Unrelated {
		return err != nil, err
	}
	switch {
	case result.Refused:
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Unentitled, Question: q.ID})
	case result.Decided:
		answer := text
		q.Answer = &answer
		i.auditAnswer(in, q)
	}
	in.Text = text // the history contains the labels of buttons, too
	return true, i.continueRun(ctx, in, result)
}

// storeDuplicate stores a message that the network has delivered again. It must not be carried out
// again, since other questions may be open by now. It reports whether the message was a duplicate.
func (i *Intake) storeDuplicate(ctx context.Context, in channels.Incoming) (bool, error) {
	if known, err := i.isKnown(ctx, in); !known || err != nil {
		return false, err
	}
	return true, i.storeWithoutTurn(ctx, in, "")
}

// continueRun stores a message about a run, or gives it a turn in which the run continues.
func (i *Intake) continueRun(ctx context.Context, in channels.Incoming, result chatrun.Result) error {
	if !result.Continue {
		return i.storeWithoutTurn(ctx, in, result.Reply)
	}
	if result.Press != "" {
		in.Press = result.Press
	}
	set := i.o.Settings()
	set.WhileRunning, set.QueueLimit = Queue, 0
	if err := i.enqueueMessage(ctx, in, set); err != nil || result.Reply == "" {
		return err
	}
	return i.postNotice(ctx, in, result.Reply)
}
