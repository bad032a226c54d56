package intake

import (
	"context"
	"fmt"

	"nanobot/gateway/press"
	"nanobot/internal/words"
)

// details carries out the Details button under a folded board. Only the person who pressed it sees
// the answer, where the network can do that.
func (c commandCall) details(ctx context.Context) (string, error) {
	id := press.Inbound(c.args)
	if id == 0 {
		return "", nil
	}
	c.reply.Private = true
	inbound, ok, err := c.o.Store.Inbound(ctx, id)
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	if ok && inbound.In.Chat != c.in.Chat {
		return "", nil
	}
	text, err := c.o.Store.LoadDetails(ctx, id)
	if err != nil {
		return "", err
	}
	if text == "" {
		return c.textForSender(words.DetailsGone), nil
	}
	return text, nil
}
