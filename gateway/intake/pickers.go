package intake

import (
	"context"
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// chooseOrClose handles the open pickers of a message's chat: the message chooses from one of them,
// or it closes all. It reports whether the message was a choice.
func (i *Intake) chooseOrClose(ctx context.Context, in channels.Incoming) (bool, error) {
	if open, err := i.hasPickers(ctx, in); !open || err != nil {
		return false, err
	}
	if chosen, err := i.choosePicked(ctx, in); chosen || err != nil || in.Press != "" {
		return chosen, err
	}
	return false, i.closePickers(ctx, in)
}

// hasPickers reports whether a message's chat has open pickers for it. A message that the network
// has delivered again has chosen or closed before, and must not do so with a newer picker.
func (i *Intake) hasPickers(ctx context.Context, in channels.Incoming) (bool, error) {
	open, err := i.o.Store.OpenQuestions(ctx, in.Chat)
	if err != nil {
		return false, fmt.Errorf("read open questions: %w", err)
	}
	if !slices.ContainsFunc(open, func(q store.Question) bool { return q.IsPicker() }) {
		return false, nil
	}
	known, err := i.isKnown(ctx, in)
	return !known, err
}

// closePickers closes the pickers of a message's chat.
func (i *Intake) closePickers(ctx context.Context, in channels.Incoming) error {
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

// choosePicked handles a message that chooses an option of an open picker, by a button or by its
// number or text: the option's command gets a turn as if the person had written it. It reports
// whether the message was a choice.
func (i *Intake) choosePicked(ctx context.Context, in channels.Incoming) (bool, error) {
	q, option, err := i.findPicked(ctx, in)
	if err != nil || option == "" {
		return false, err
	}
	if may, err := i.mayAnswer(ctx, in, q); err != nil {
		return true, err
	} else if !may {
		return true, i.refuseAnswer(ctx, in, q)
	}
	refused := in // has the ID of this press, so that a refused one does not use up the picker
	if in.Press != "" {
		in.ID = channels.PressID(q.ID) // a second press, by anybody, is a duplicate
	}
	in.Text, in.Press, in.Pressed = q.Commands[slices.Index(q.Options, option)], "", true
	request := store.ReceiveRequest{In: in, Choose: &store.Reply{Question: q.ID, Text: option, By: in.User.ID}}
	result, err := i.enqueueOrDrop(ctx, request, refused, i.o.Settings())
	if result.Chosen {
		q.Answer = &option
		i.o.Outbox.ShowOutcome(q, answerSummary(i.words(in), q, in.User))
	}
	return true, err
}

// findPicked returns the open picker that a message chooses from, and the option that it chooses;
// "": it chooses none.
func (i *Intake) findPicked(ctx context.Context, in channels.Incoming) (store.Question, string, error) {
	if pressed, ok := press.ParseAnswer(in.Press); ok {
		q, found, err := i.o.Store.Question(ctx, pressed.Question)
		if err != nil || !found || !q.IsPicker() || q.Closed || q.Chat != in.Chat {
			return store.Question{}, "", err
		}
		option, _ := matchOption(q, in)
		return q, option, nil
	}
	if in.Press != "" || in.Forwarded != nil || len(in.Media) > 0 {
		return store.Question{}, "", nil
	}
	open, err := i.o.Store.OpenQuestions(ctx, in.Chat)
	if err != nil {
		return store.Question{}, "", fmt.Errorf("read open questions: %w", err)
	}
	at := slices.IndexFunc(open, func(q store.Question) bool {
		return q.IsPicker() && q.Newest && (in.ReplyTo == nil && wasShown(q) || repliesTo(in, q))
	})
	if at < 0 {
		return store.Question{}, "", nil
	}
	option, _ := matchOption(open[at], in)
	return open[at], option, nil
}

// wasShown reports whether the message of a question has reached the network.
func wasShown(q store.Question) bool {
	return q.Outbound != store.Pending && q.Outbound != store.Failed
}

// dismissable returns the open questions of a chat that a message dismisses: those that end when a
// person writes something else, if the sender may answer them and they were shown.
func (i *Intake) dismissable(ctx context.Context, in channels.Incoming) ([]store.Question, error) {
	open, err := i.o.Store.OpenQuestions(ctx, in.Chat)
	if err != nil {
		return nil, fmt.Errorf("read open questions: %w", err)
	}
	var all []store.Question
	for _, q := range open {
		if q.OtherText != store.OtherTextDismisses || !wasShown(q) {
			continue
		}
		may, err := i.mayAnswer(ctx, in, q)
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
func (i *Intake) dismissQuestions(ctx context.Context, in channels.Incoming, all []store.Question) error {
	for _, q := range all {
		closed, err := i.o.Store.Withdraw(ctx, q.ID)
		if err != nil {
			return fmt.Errorf("dismiss question: %w", err)
		}
		if !closed { // answered or expired meanwhile
			continue
		}
		i.o.Dismissed(q.ID, in.User.ID)
		how := words.DismissedQuestion
		if q.Approval {
			how = words.Dismissed
		}
		i.o.Outbox.ShowOutcome(q, i.words(in).Text(how, personName(in.User)))
	}
	return nil
}
