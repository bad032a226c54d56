package receiving

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/menus"
	"nanobot/channels/telegram/updates"
)

// botKey is the memory key of the ID of the bot that the state was created with.
const botKey = "bot"

var errNoMemory = errors.New("no memory is given for the channel's state")

// identity recognises what belongs to this bot: messages to it, and the IDs that it has given.
type identity struct {
	groups string // which group messages are accepted
	menu   *menus.Menu
	user   botapi.BotUser // the bot's own account
	prefix string         // of message IDs; see load
}

// load compares the bot with the one that the state was created with. Each bot numbers its updates
// and the messages of its private chats separately, so the numbers of another bot would look like
// messages that were received before. Therefore IDs of another bot get its ID as a prefix.
func (i *identity) load(ctx context.Context, memory channels.Memory) error {
	kept, err := memory.Load(ctx, botKey)
	if err != nil {
		return err
	}
	if kept == "" {
		kept = strconv.FormatInt(i.user.ID, 10)
		if err := memory.Save(ctx, botKey, kept); err != nil {
			return err
		}
	}
	first, err := strconv.ParseInt(kept, 10, 64)
	if err != nil {
		return fmt.Errorf("read which bot this state is of: %w", err)
	}
	i.prefix = ""
	if first != i.user.ID {
		i.prefix = strconv.FormatInt(i.user.ID, 10) + chats.BotSeparator
	}
	return nil
}

// gatewayID is the ID of a message for the gateway.
func (i *identity) gatewayID(m *updates.Message) string { return i.prefix + m.GatewayID() }

// isOwnID reports whether a message with this gateway ID was sent to this bot.
func (i *identity) isOwnID(id string) bool {
	rest, ok := strings.CutPrefix(id, i.prefix)
	return ok && !strings.Contains(rest, chats.BotSeparator)
}

// formatCursor returns the cursor after an update; 0 is none.
func (i *identity) formatCursor(update int64) string {
	if update == 0 {
		return ""
	}
	return i.prefix + strconv.FormatInt(update, 10)
}

// parseCursor returns the update ID of a cursor, or 0 if the cursor is another bot's.
func (i *identity) parseCursor(cursor string) int64 {
	number, ok := strings.CutPrefix(cursor, i.prefix)
	if !ok {
		return 0
	}
	update, _ := strconv.ParseInt(number, 10, 64)
	return update
}
