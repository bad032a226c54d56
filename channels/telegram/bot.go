package telegram

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// botKey is where the id of the bot that the state began with is in the channel's memory.
	botKey = "bot"
	// botMark is between a bot's id and what it stands before.
	botMark = ":"
)

var errNoMemory = errors.New("the channel has no memory")

// recognise finds out whether this is the bot that the state began with. Each bot numbers the
// messages of its private chats, and its updates, by itself: those of another one would be taken
// for ones that were received long ago. So what another bot numbers has its id before it.
func (c *Channel) recognise(ctx context.Context) error {
	kept, err := c.memory.Load(ctx, botKey)
	if err != nil {
		return err
	}
	if kept == "" {
		kept = strconv.FormatInt(c.me.ID, 10)
		if err := c.memory.Save(ctx, botKey, kept); err != nil {
			return err
		}
	}
	first, err := strconv.ParseInt(kept, 10, 64)
	if err != nil {
		return fmt.Errorf("read which bot this state is of: %w", err)
	}
	c.prefix = ""
	if first != c.me.ID {
		c.prefix = strconv.FormatInt(c.me.ID, 10) + botMark
	}
	if c.resume != "" {
		c.cursor = c.readCursor(c.resume)
		c.resume = ""
	}
	return nil
}

// messageName is a message's id for the gateway.
func (c *Channel) messageName(m *message) string { return c.prefix + m.name() }

// ours tells whether a message was sent to this bot, by its id for the gateway.
func (c *Channel) ours(id string) bool {
	rest, ok := strings.CutPrefix(id, c.prefix)
	return ok && !strings.Contains(rest, botMark)
}

// writeCursor returns the cursor behind an update; 0 is none.
func (c *Channel) writeCursor(update int64) string {
	if update == 0 {
		return ""
	}
	return c.prefix + strconv.FormatInt(update, 10)
}

// readCursor returns the update that a cursor says, or 0 if it is another bot's.
func (c *Channel) readCursor(cursor string) int64 {
	number, ok := strings.CutPrefix(cursor, c.prefix)
	if !ok {
		return 0
	}
	update, _ := strconv.ParseInt(number, 10, 64)
	return update
}
