package intake

import (
	"context"
	"fmt"

	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// verbose carries out /verbose: it says or changes whether the chat has boards. The running turn
// keeps its board.
func (c commandCall) verbose(ctx context.Context) (string, error) {
	switch c.args {
	case "0":
		c.request.Remember = store.Memory{Key: store.VerboseMemory, Value: store.NoBoard}
		return c.text(words.VerboseOff), nil
	case "1":
		c.request.Remember = store.Memory{Key: store.VerboseMemory}
		return c.text(words.VerboseOn), nil
	case "":
	default:
		return c.text(words.VerboseUsage), nil
	}
	now, err := c.o.Store.Recall(ctx, c.in.Chat, store.VerboseMemory)
	if err != nil {
		return "", fmt.Errorf("read whether the chat wants boards: %w", err)
	}
	if now == store.NoBoard {
		return c.text(words.VerboseIsOff), nil
	}
	return c.text(words.VerboseIsOn), nil
}
