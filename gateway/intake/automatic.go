package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/choice"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
)

// ReceiveAutomatic stores a message that nobody has typed. It is no command, no press and no answer
// to a question. If it gets a turn, it waits for the running one, whatever the settings say. A
// message with Settle is stored with its answers only. With runbook, the turn is a run of it.
func (i *Intake) ReceiveAutomatic(ctx context.Context, request store.ReceiveRequest, runbook string) (
	store.ReceiveResult, error,
) {
	in := &request.In
	if runbook != "" {
		if err := i.prepareRun(ctx, &request, runbook); err != nil {
			return store.ReceiveResult{}, err
		}
	}
	in.User = in.Origin.User()
	i.o.Outbox.Reopen(in.Chat)
	if request.Settle {
		result, err := i.o.Store.Receive(ctx, request)
		if err != nil {
			return result, fmt.Errorf("store message: %w", err)
		}
		if len(request.Answer) > 0 {
			i.o.Outbox.Wake(in.Chat)
		}
		return result, nil
	}
	in.Answerer.Agent = request.Agent
	decided, err := i.o.Choice.Decide(ctx, *in)
	if request.In = decided; err == nil {
		err = i.assignAgent(&request)
	}
	if err != nil {
		return store.ReceiveResult{}, err
	}
	result, err := i.acceptMessage(ctx, request)
	if err == nil && result.Disposition == store.Full {
		i.o.Events.Report(events.Event{Type: events.Dropped, Chat: in.Chat, Reason: events.QueueFull})
	}
	return result, err
}

// prepareRun makes a message start a run of a runbook. If the runbook cannot be run, the chat is
// told why.
func (i *Intake) prepareRun(ctx context.Context, request *store.ReceiveRequest, runbook string) error {
	in := &request.In
	in.Text = "/" + choice.CommandRun + " " + runbook
	in.Press = in.Text // press.Type would refuse a name that is too long for a button
	s, err := i.newStatement(ctx, *in, runbook)
	if err != nil {
		return err
	}
	result, err := i.o.Runbooks.Command(ctx, s)
	if err == nil && !result.Continue {
		in.Press, request.Settle, request.Reason = "", true, store.ByCommand
		request.Answer, err = i.planAnswer(*in, channels.Message{Text: result.Reply})
	}
	return err
}
