package telegram

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// botKey is the memory key of the ID of the bot that the state was created with.
	botKey = "bot"
	// botSeparator follows a bot's ID in a prefix.
	botSeparator = ":"
)

var errNoMemory = errors.New("no memory is given for the channel's state")

// loadIdentity compares the bot with the one that the state was created with. Each bot numbers its
// updates and the messages of its private chats separately, so the numbers of another bot would
// look like messages that were received before. Therefore IDs of another bot get its ID as a
// prefix.
func (c *Channel) loadIdentity(ctx context.Context) error {
	kept, err := c.memory.Load(ctx, botKey)
	if err != nil {
		return err
	}
	if kept == "" {
		kept = strconv.FormatInt(c.botUser.ID, 10)
		if err := c.memory.Save(ctx, botKey, kept); err != nil {
			return err
		}
	}
	first, err := strconv.ParseInt(kept, 10, 64)
	if err != nil {
		return fmt.Errorf("read which bot this state is of: %w", err)
	}
	c.idPrefix = ""
	if first != c.botUser.ID {
		c.idPrefix = strconv.FormatInt(c.botUser.ID, 10) + botSeparator
	}
	if c.resumeCursor != "" {
		c.lastStored = c.parseCursor(c.resumeCursor)
		c.resumeCursor = ""
	}
	return nil
}

// gatewayID is the ID of a message for the gateway.
func (c *Channel) gatewayID(m *message) string { return c.idPrefix + m.gatewayID() }

// isOwnID reports whether a message with this gateway ID was sent to this bot.
func (c *Channel) isOwnID(id string) bool {
	rest, ok := strings.CutPrefix(id, c.idPrefix)
	return ok && !strings.Contains(rest, botSeparator)
}

// formatCursor returns the cursor after an update; 0 is none.
func (c *Channel) formatCursor(update int64) string {
	if update == 0 {
		return ""
	}
	return c.idPrefix + strconv.FormatInt(update, 10)
}

// parseCursor returns the update ID of a cursor, or 0 if the cursor is another bot's.
func (c *Channel) parseCursor(cursor string) int64 {
	number, ok := strings.CutPrefix(cursor, c.idPrefix)
	if !ok {
		return 0
	}
	update, _ := strconv.ParseInt(number, 10, 64)
	return update
}
