package intake

import (
	"context"
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// closePickers closes the pickers among the open questions of a message's chat. A message that the
// network has delivered again has closed them before, and must not close a newer one.
func (i *Intake) closePickers(ctx context.Context, in channels.Incoming, open []store.Question) error {
	if !slices.ContainsFunc(open, func(q store.Question) bool { return q.IsPicker() }) {
		return nil
	}
	if known, err := i.isKnown(ctx, in); known || err != nil {
		return err
	}
	return i.o.Outbox.ClosePickers(ctx, in.Chat, 0, i.words(in))
}

// isKnown reports whether the network has delivered a message before.
func (i *Intake) isKnown(ctx context.Context, in channels.Incoming) (bool, error) {
	if in.ID == "" {
		return false, nil
	}
	known, err := i.o.Store.Known(ctx, in.Chat, in.ID)
	if err != nil {
		return false, fmt.Errorf("look up message: %w", err)
	}
	return known, nil
}

// chooseCommand handles a message that chooses an option of an open picker. It reports false for a
// button that the picker does not have.
func (i *Intake) chooseCommand(ctx context.Context, in channels.Incoming, q store.Question, open []store.Question) (
	bool, error,
) {
	n := optionNumber(q, in)
	if n == 0 {
		return false, nil
	}
	if known, err := i.storeDuplicate(ctx, in); known || err != nil {
		return true, err
	}
	if refused, err := i.refuseAnswer(ctx, in, q); refused || err != nil {
		return true, err
	}
	if err := i.keepAgent(ctx, &in, q.Inbound); err != nil {
		return true, err
	}
	reply := &store.Reply{Question: q.ID, Text: q.Options[n-1], By: in.User.ID, Turn: true}
	result, err := i.enqueueChosen(ctx, in, chosen{id: q.ID, text: q.Commands[n-1], reply: reply}, open)
	if result.Replied {
		q.Answer = &reply.Text
		i.o.Outbox.ShowOutcome(q, answerSummary(i.words(in), q, in.User))
	}
	return true, err
}

// enqueueChoice handles the press of a button that an agent has put under a message. Its text is
// never a command, nor the answer to a question, since other words may be meant by it. The buttons
// of a message can be used once.
func (i *Intake) enqueueChoice(ctx context.Context, in channels.Incoming, said press.Said,
	open []store.Question,
) error {
	text, id, err := i.findChoice(ctx, in, said)
	if err != nil {
		return err
	}
	if text == "" {
		// Its message is no longer stored.
		return i.storeWithoutTurn(ctx, in, store.ByLateReply, i.words(in).Text(words.TooOldButton))
	}
	if err = i.keepAgent(ctx, &in, said.Inbound); err == nil {
		_, err = i.enqueueChosen(ctx, in, chosen{id: id, text: text}, open)
	}
	return err
}

// chosen is an option that a person has chosen: its text gets a turn as if the person had written
// it.
type chosen struct {
	id    string // of the question, or of the message with the buttons
	text  string
	reply *store.Reply // answers the question; nil: there is none, and the text closes pickers
}

func (i *Intake) enqueueChosen(ctx context.Context, in channels.Incoming, c chosen, open []store.Question) (
	store.ReceiveResult, error,
) {
	refused := in // has the ID of this press, so that a refused one does not use up the buttons
	if in.Press != "" {
		in.ID = channels.PressID(c.id) // a second press, by anybody, is a duplicate
	}
	in.Text, in.Press, in.Pressed = c.text, "", true
	if c.reply == nil {
		if err := i.closePickers(ctx, in, open); err != nil {
			return store.ReceiveResult{}, err
		}
	}
	return i.enqueueOrDrop(ctx, store.ReceiveRequest{In: in, Reply: c.reply}, refused, i.o.Settings(), open)
}

// findChoice returns the text of a pressed button, and an ID that all buttons of its message have.
// The text is "" if there is no such button in the chat any more. A turn that was repeated has sent
// the same buttons again: the newest count.
func (i *Intake) findChoice(ctx context.Context, in channels.Incoming, said press.Said) (text, id string, err error) {
	deliveries, err := i.o.Store.Deliveries(ctx, said.Inbound)
	if err != nil {
		return "", "", fmt.Errorf("read the message of a button: %w", err)
	}
	newest := int64(0)
	for _, delivery := range deliveries {
		for _, b := range delivery.Out.Buttons {
			if b.Data == in.Press && delivery.Out.Chat == in.Chat && delivery.ID > newest {
				newest, text, id = delivery.ID, b.Label, fmt.Sprintf("%s:%d", said.Offer, delivery.ID)
			}
		}
	}
	return text, id, nil
}

// dismissable returns the open questions of a chat that a message dismisses: those that end when a
// person writes something else, if the sender may answer them and they were shown.
func (e *enqueuer) dismissable(ctx context.Context, in channels.Incoming, open []store.Question) (
	[]store.Question, error,
) {
	var all []store.Question
	for _, q := range open {
		if q.OtherText != terminal.OtherTextDismisses || !wasShown(q) {
			continue
		}
		may, err := e.mayAnswer(ctx, in, q)
		if err != nil {
			return nil, err
		}
		if may {
			all = append(all, q)
		}
	}
	return all, nil
}

// dismissQuestions closes questions because a person has written something else.
func (e *enqueuer) dismissQuestions(ctx context.Context, in channels.Incoming, all []store.Question) error {
	for _, q := range all {
		how := words.DismissedQuestion
		if q.Approval {
			how = words.Dismissed
		}
		closed, err := e.o.Outbox.CloseQuestion(ctx, q, e.words(in).Text(how, personName(in.User)))
		if err != nil {
			return err
		}
		if closed { // neither answered nor expired meanwhile
			e.o.Answered(q.ID, terminal.Answer{}, &terminal.DismissedError{By: in.User.ID})
		}
	}
	return nil
}
