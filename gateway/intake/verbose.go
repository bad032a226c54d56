package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// verboseMenu is the menu's entry of /verbose.
var verboseMenu = channels.Command{Name: "verbose", Help: "show the work while it runs (1) or only answers (0)", Args: true}

// verbose carries out /verbose: it says or changes whether the chat has boards. The running turn
// keeps its board.
func (c commandCall) verbose(ctx context.Context) (string, error) {
	switch c.args {
	case "0":
		c.request.Remember = store.Memory{Key: store.VerboseMemory, Value: store.NoBoard}
		return "From the next message on I show only answers and questions. /verbose 1 shows the work again.", nil
	case "1":
		c.request.Remember = store.Memory{Key: store.VerboseMemory}
		return "From the next message on I show the work while it runs. /verbose 0 hides it.", nil
	case "":
	default:
		return "Send /verbose 0 to see only answers, or /verbose 1 to see the work while it runs.", nil
	}
	now, err := c.o.Store.Recall(ctx, c.in.Chat, store.VerboseMemory)
	if err != nil {
		return "", fmt.Errorf("read whether the chat wants boards: %w", err)
	}
	if now == store.NoBoard {
		return "This chat sees only answers and questions. /verbose 1 shows the work while it runs.", nil
	}
	return "This chat sees the work while it runs. /verbose 0 hides it.", nil
}
