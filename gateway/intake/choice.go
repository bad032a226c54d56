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

// enqueueChoice handles the press of a button that an agent has put under a message: the button's
// text gets a turn as if the person had written it. It is never a command, nor the answer to a
// question, since other words may be meant by it. The buttons of a message can be used once.
func (i *Intake) enqueueChoice(ctx context.Context, in channels.Incoming, choice press.Said) error {
	text, id, err := i.findChoice(ctx, in, choice)
	if err != nil {
		return err
	}
	if text == "" {
		return i.storeWithoutTurn(ctx, in, i.words(in).Text(words.TooOldButton)) // its message is no longer stored
	}
	refused := in // has the ID of this press, so that a refused one does not use up the buttons
	if refusal, ok := i.checkRate(in, false, false); !ok {
		return i.dropMessage(ctx, refused, events.RateLimited, refusal)
	}
	// A second press of the message's buttons, by anybody, is a duplicate.
	in.Text, in.Press, in.Pressed, in.ID = text, "", true, channels.PressID(id)
	if open, err := i.hasPickers(ctx, in); err != nil {
		return err
	} else if open {
		if err := i.closePickers(ctx, in); err != nil {
			return err
		}
	}
	_, err = i.enqueueOrDrop(ctx, store.ReceiveRequest{In: in}, refused, i.o.Settings())
	return err
}

// findChoice returns the text of a pressed button, and an ID that all buttons of its message have.
// The text is "" if there is no such button in the chat any more. A turn that was repeated has sent
// the same buttons again: the newest count.
func (i *Intake) findChoice(ctx context.Context, in channels.Incoming, choice press.Said) (text, id string, err error) {
	deliveries, err := i.o.Store.Deliveries(ctx, choice.Inbound)
	if err != nil {
		return "", "", fmt.Errorf("read the message of a button: %w", err)
	}
	newest := int64(0)
	for _, p := range deliveries {
		for _, b := range p.Out.Buttons {
			if b.Data == in.Press && p.Out.Chat == in.Chat && p.ID > newest {
				newest, text, id = p.ID, b.Label, fmt.Sprintf("%s:%d", choice.Offer, p.ID)
			}
		}
	}
	return text, id, nil
}
