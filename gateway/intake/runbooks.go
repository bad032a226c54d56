package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/runbook/chatrun"
	"nanobot/gateway/store"
)

// Runbooks are the procedures that people can run in their chats.
type Runbooks interface {
	// Available reports whether there are any.
	Available() bool
	// List tells which ones there are, and returns the names of those that can be run.
	List() (text string, runnable []string)
	// Command carries out what follows /run.
	Command(ctx context.Context, s chatrun.Statement) (chatrun.Result, error)
	// IsQuestion reports whether a question is about a run, by its id, and Answer carries out what
	// a person says to it.
	IsQuestion(question string) bool
	Answer(ctx context.Context, q store.Question, s chatrun.Statement) (chatrun.Result, error)
}

// The commands about runbooks are offered only where there are any. Elsewhere they go to the agent.
const runCommand, runbooksCommand = "run", "runbooks"

var runbookMenu = []channels.Command{
	{Name: runbooksCommand, Help: "list the runbooks"},
	{Name: runCommand, Help: "run a runbook, or /run resume one", Args: true},
}

func (i *Intake) hasRunbooks() bool { return i.o.Runbooks != nil && i.o.Runbooks.Available() }

// runbooks lists the runbooks.
func (c call) runbooks(context.Context) (string, error) {
	text, names := c.o.Runbooks.List()
	for _, name := range names[:min(len(names), mostOffered)] {
		if data := "/" + runCommand + " " + name; len(data) <= longestPress {
			c.reply.Buttons = append(c.reply.Buttons, channels.Button{Label: "Run " + name, Data: data})
		}
	}
	return text, nil
}

// longestPress is how much a button can carry.
const longestPress = 64

// run carries out /run: a run that begins or goes on gets a turn.
func (i *Intake) run(ctx context.Context, in channels.Incoming, args string) error {
	if known, err := i.settleKnown(ctx, in); known || err != nil {
		return err
	}
	result, err := i.o.Runbooks.Command(ctx, i.statement(in, args))
	if err != nil {
		return err
	}
	decision := audit.Allowed
	if result.Refused {
		decision = audit.Unentitled
	}
	i.o.Audit.Record(in, audit.Record{Event: audit.Command, Decision: decision, Command: "/" + runCommand, Text: in.Text})
	return i.continueRun(ctx, in, result)
}

// statement is what a person says about a run.
func (i *Intake) statement(in channels.Incoming, text string) chatrun.Statement {
	return chatrun.Statement{In: in, Text: text, Approver: approves(i.o.Settings().RunApprovers, in.Chat.Channel, in.User.ID)}
}

// answerRun takes a message as what a person says to a question about a run. It reports whether it
// was that.
func (i *Intake) answerRun(ctx context.Context, in channels.Incoming, q store.Question) (bool, error) {
	if known, err := i.settleKnown(ctx, in); known || err != nil {
		return true, err
	}
	text, ok := choose(q, in)
	if !ok {
		text = in.Text
	}
	result, err := i.o.Runbooks.Answer(ctx, q, i.statement(in, text))
	if err != nil || result.Unrelated {
		return err != nil, err
	}
	switch {
	case result.Refused:
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Unentitled, Question: q.ID})
	case result.Decided:
		answer := text
		q.Answer = &answer
		i.recordAnswer(in, q)
	}
	in.Text = text // what a button says, too, is part of the history
	return true, i.continueRun(ctx, in, result)
}

// settleKnown settles a message that was received before, which the network brings again. What it
// said must not be carried out again: other questions may be open by now. It reports whether it was
// one.
func (i *Intake) settleKnown(ctx context.Context, in channels.Incoming) (bool, error) {
	known, err := i.o.Store.Known(ctx, in.Chat, in.ID)
	if err != nil {
		return false, fmt.Errorf("look up message: %w", err)
	}
	if !known || in.ID == "" {
		return false, nil
	}
	return true, i.settle(ctx, in, "")
}

// continueRun settles a message about a run, or gives it a turn in which the run goes on.
func (i *Intake) continueRun(ctx context.Context, in channels.Incoming, result chatrun.Result) error {
	if !result.Continue {
		return i.settle(ctx, in, result.Reply)
	}
	if result.Press != "" {
		in.Press = result.Press
	}
	set := i.o.Settings()
	set.WhileRunning, set.QueueLimit = Queue, 0
	if err := i.enqueue(ctx, in, set); err != nil || result.Reply == "" {
		return err
	}
	return i.note(ctx, in, result.Reply)
}
