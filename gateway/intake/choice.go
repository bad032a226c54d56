package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/internal/words"
)

// pressID is the beginning of the ID of a message that is a press of a button.
const pressID = "press-"

// enqueueChoice handles the press of a button that an agent has put under a message: the button's
// text gets a turn as if the person had written it. It is never a command, nor the answer to a
// question, since other words may be meant by it. The buttons of a message can be used once.
func (i *Intake) enqueueChoice(ctx context.Context, in channels.Incoming, choice outbox.Choice) error {
	text, err := i.choiceText(ctx, in, choice)
	if err != nil {
		return err
	}
	if text == "" {
		return i.storeWithoutTurn(ctx, in, i.words(in).Text(words.TooOldButton)) // its message is no longer stored
	}
	// A second press of the message's buttons, by anybody, is a duplicate.
	in.Text, in.Press, in.ID = text, "", pressID+choice.Message
	if refusal, ok := i.checkRate(in, false, false); !ok {
		return i.dropMessage(ctx, in, events.RateLimited, refusal)
	}
	return i.enqueueMessage(ctx, in, i.o.Settings())
}

// choiceText returns the text of a pressed button, or "" if there is no such button in the chat any
// more.
func (i *Intake) choiceText(ctx context.Context, in channels.Incoming, choice outbox.Choice) (string, error) {
	deliveries, err := i.o.Store.Deliveries(ctx, choice.Inbound)
	if err != nil {
		return "", fmt.Errorf("read the message of a button: %w", err)
	}
	for _, p := range deliveries {
		for _, b := range p.Out.Buttons {
			if b.Data == in.Press && p.Out.Chat == in.Chat {
				return b.Label, nil
			}
		}
	}
	return "", nil
}
