package intake

import (
	"context"
	"fmt"
)

// chatDeletion is carried out when a person has deleted a chat. Nobody can read an answer.
var chatDeletion = command{stops: true, clearsMemory: true, do: commandCall.deleteChat}

// deleteChat has the running turn cancelled, drops the queue, ends the agents' sessions and
// background commands, and removes the schedules that were made in the chat.
func (c commandCall) deleteChat(ctx context.Context) (string, error) {
	if known, err := c.isKnown(ctx, c.in); known || err != nil {
		return "", err
	}
	if err := c.collectDropped(ctx); err != nil {
		return "", err
	}
	c.request.Cancel, c.request.StartConversation = true, true
	c.stopBackgroundCommands()
	c.endLeftCommands()
	for _, s := range c.o.Schedules.List(c.in.Chat) {
		if s.Maker == "" { // the operator's
			continue
		}
		if _, err := c.o.Schedules.Remove(ctx, s.Name); err != nil {
			return "", fmt.Errorf("remove schedule %s: %w", s.Name, err)
		}
	}
	return "", nil
}
