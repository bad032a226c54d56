package intake

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// changeMessage handles the edit or the deletion of an earlier message. A message that waits is
// changed or withdrawn; for one that runs or has run, an edit is answered with the offer to run the
// new text.
func (i *Intake) changeMessage(ctx context.Context, in channels.Incoming) error {
	// Discord does not say whose message was deleted, nor by whom.
	admitted := in.Change == channels.Deleted && in.User.ID == ""
	if !admitted {
		var err error
		if admitted, err = i.o.Access.Admits(ctx, in.Chat.Channel, in.User.ID); err != nil {
			return err
		}
	}
	request := store.ChangeRequest{In: in, Cursor: in.Cursor, Refused: !admitted || in.ID == ""}
	if _, err := i.readChat(ctx, in); err != nil {
		return err
	}
	defer i.o.Lanes.Lock(in.Chat)()
	if !request.Refused {
		if err := i.prepareChange(ctx, &request); err != nil {
			return err
		}
	}
	result, err := i.o.Store.ChangeMessage(ctx, request)
	if err != nil {
		return fmt.Errorf("change message: %w", err)
	}
	if result.Effect == store.Withdrawn {
		i.o.Notices.Recheck(in.Chat)
		i.o.Events.Report(events.Event{
			Type: events.Dropped, Chat: in.Chat, Inbound: result.Inbound.ID,
			Reason: events.Cancelled,
		})
	}
	if len(request.Answers[result.Effect]) > 0 {
		i.o.Outbox.Wake(in.Chat)
	}
	return nil
}

// withdrawReplaced withdraws the message that another one replaces, or ends its turn, unless that
// works on further messages. A repetition changes nothing.
func (i *Intake) withdrawReplaced(ctx context.Context, in channels.Incoming) error {
	deletion := channels.Incoming{Chat: in.Chat, ID: in.Replaces, User: in.User, Change: channels.Deleted}
	if err := i.changeMessage(ctx, deletion); err != nil {
		return err
	}
	defer i.o.Lanes.Lock(in.Chat)()
	i.o.Lanes.AwaitClaim()
	t := i.o.Lanes.RunningTurn(in.Chat)
	if t == nil {
		return nil
	}
	inbound, _, err := i.o.Store.Message(ctx, in.Chat, in.Replaces)
	if err != nil {
		return fmt.Errorf("read the message to be replaced: %w", err)
	}
	if _, joined := inbound.In.Without(in.Replaces); !joined && t.Inbound().ID == inbound.ID {
		t.Cancel(i.o.Interrupted)
	}
	return nil
}

// prepareChange adds the answers to a change, and takes back a message that was passed to the
// running turn but not read. The caller must have locked the chat.
func (i *Intake) prepareChange(ctx context.Context, request *store.ChangeRequest) error {
	before, found, err := i.o.Store.Message(ctx, request.In.Chat, request.In.ID)
	if err != nil || !found {
		return err
	}
	if request.In.Change == channels.Edited {
		_, _, request.Withdraw = i.parseCommand(request.In) // what follows the command of a rule is none
		if err := i.routeEdit(ctx, request, before); err != nil {
			return err
		}
		if before.In.ApplyEdit(request.In).SameContent(before.In) && cmp.Or(request.Agent, before.Agent) == before.Agent {
			return nil
		}
		if err := i.planChangeAnswers(request); err != nil {
			return err
		}
	}
	if t := i.o.Lanes.RunningTurn(request.In.Chat); t != nil && before.State == store.Pending {
		request.Injected = !t.WithdrawMessage(before.ID)
	}
	return nil
}

// routeEdit decides who answers the new content of a message, where there are rules. The content
// that the message had stays with its agent, and a message that was joined to another with that
// one.
func (i *Intake) routeEdit(ctx context.Context, request *store.ChangeRequest, before store.Inbound) error {
	in := before.In.ApplyEdit(request.In)
	in.Text, in.Pieces = request.In.Text, nil
	in, err := i.o.Choice.Decide(ctx, in)
	if err != nil {
		return err
	}
	request.In.Answerer, request.In.Workspace, request.In.Worktree = in.Answerer, before.In.Workspace, before.In.Worktree
	request.In.Command = before.In.Command
	pieces := before.In.Pieces
	switch isFirst := len(pieces) == 0 || pieces[0].ID == request.In.ID; {
	case !i.o.Choice.HasRoutes():
	case isFirst:
		request.Agent, request.In.Workspace, request.In.Worktree = in.Answerer.Agent, in.Workspace, in.Worktree
		request.In.Text, request.In.Command = in.Text, in.Command
		if before.In.ApplyEdit(request.In).SameContent(before.In) && slices.Contains(in.Answerer.Choices, before.Agent) {
			request.Agent = before.Agent // only the choice of the chat may have changed
		}
	case in.Answerer.Agent == before.Agent && in.SamePlace(before.In):
		request.In.Text = in.Text
	}
	return nil
}

// planChangeAnswers plans the answers to an edit.
func (i *Intake) planChangeAnswers(request *store.ChangeRequest) (err error) {
	request.Withdraw = request.Withdraw || i.findControl(request.In).isCommand()
	w := i.words(request.In)
	offer := channels.Message{Text: w.Text(words.EditedSendAgain), Notification: channels.Notification{Silent: true}}
	if data := press.Rerun(request.In.ID); data != "" {
		offer.Text = w.Text(words.EditedRunning)
		offer.Buttons = []channels.Button{{Label: w.Text(words.ButtonRunNewText), Data: data}}
	}
	request.Answers = map[store.Effect][]channels.Outgoing{}
	for effect, m := range map[store.Effect]channels.Message{
		store.StoredForRerun: offer,
		store.Withdrawn:      {Text: w.Text(words.EditedCommand), Notification: offer.Notification},
	} {
		if request.Answers[effect], err = i.planAnswer(request.In, m); err != nil {
			return err
		}
	}
	return nil
}

// rerunEdited carries out the button under the offer to run the new text of an edited message.
func (c commandCall) rerunEdited(ctx context.Context) (string, error) {
	inbound, ok, err := c.o.Store.Message(ctx, c.in.Chat, c.args)
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	if !ok || inbound.In.Change != channels.Edited || inbound.Attempt > 0 {
		return "", nil
	}
	return c.restart(ctx, inbound)
}
