package intake

import (
	"context"
	"fmt"

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

// prepareChange adds the answers to a change, and takes back a message that was passed to the
// running turn but not read. The caller must have locked the chat.
func (i *Intake) prepareChange(ctx context.Context, request *store.ChangeRequest) error {
	before, found, err := i.o.Store.Message(ctx, request.In.Chat, request.In.ID)
	if err != nil || !found {
		return err
	}
	if request.In.Change == channels.Edited {
		if before.In.ApplyEdit(request.In).SameContent(before.In) {
			return nil
		}
		if err := i.planChangeAnswers(ctx, request); err != nil {
			return err
		}
	}
	if t := i.o.Lanes.RunningTurn(request.In.Chat); t != nil && before.State == store.Pending {
		request.Injected = !t.WithdrawMessage(before.ID)
	}
	return nil
}

// planChangeAnswers plans the answers to an edit.
func (i *Intake) planChangeAnswers(ctx context.Context, request *store.ChangeRequest) error {
	_, _, own := i.parseCommand(request.In)
	ctl, err := i.findControl(ctx, request.In)
	if err != nil {
		return err
	}
	request.Withdraw = own || ctl.isCommand()
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
