package receiving

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

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

// isForBot reports whether a message is to be received at all. For an album, one part is enough.
func (i *identity) isForBot(m *updates.Message) bool {
	switch {
	case m.Chat.Type == models.ChatTypeChannel, m.IsAutoForward: // a channel's post, or its copy in the discussion group
		return false
	// a service message, such as a join or a new topic
	case m.Text == "" && m.Caption == "" && m.AttachedFile() == nil && m.DescribeExtras() == "":
		return false
	}
	return i.isAddressed(m)
}

// isAddressed reports whether a person has written a message to the bot.
func (i *identity) isAddressed(m *updates.Message) bool {
	switch {
	case m.SenderChat == nil && (m.From == nil || m.From.IsBot):
		return false
	case !m.IsGroup() || m.IsEdit: // of an edited message the gateway knows whether it was for the bot
		return true
	case i.groups == "off":
		return false
	}
	if to, ok := i.commandTarget(m); ok && to != "" {
		return i.isBotName(to)
	}
	return i.groups == "all" || i.addressesBot(m)
}

// addressesBot reports whether a message in a group mentions the bot, replies to it, or is one of
// its commands.
func (i *identity) addressesBot(m *updates.Message) bool {
	if r := m.RepliedTo(); r != nil && r.From != nil && r.From.ID == i.user.ID {
		return true
	}
	text, marks := m.TextAndEntities()
	for _, e := range marks {
		switch e.Type {
		case models.MessageEntityTypeMention:
			if i.isBotName(strings.TrimPrefix(updates.EntityText(text, e), "@")) {
				return true
			}
		case models.MessageEntityTypeTextMention:
			if e.User != nil && e.User.ID == i.user.ID {
				return true
			}
		case models.MessageEntityTypeBotCommand:
			if i.menu.Has(updates.EntityText(text, e)) && e.Offset == 0 {
				return true
			}
		default: // formatting and links
		}
	}
	return false
}

// commandTarget returns the bot that a leading command names: /cmd@target.
func (i *identity) commandTarget(m *updates.Message) (bot string, ok bool) {
	text, marks := m.TextAndEntities()
	for _, e := range marks {
		if e.Type == models.MessageEntityTypeBotCommand && e.Offset == 0 {
			_, bot, _ = strings.Cut(updates.EntityText(text, e), "@")
			return bot, true
		}
	}
	return "", false
}

func (i *identity) isBotName(username string) bool {
	return i.user.Username != "" && strings.EqualFold(username, i.user.Username)
}

// contentText returns the text of a message as Markdown, without mentions of the bot.
func (i *identity) contentText(m *updates.Message) string {
	text, entities := m.TextAndEntities()
	units := utf16.Encode([]rune(text))
	var omitted []updates.UnitRange
	for _, e := range entities {
		r := updates.UnitRange{From: e.Offset, To: e.Offset + e.Length}
		word := updates.EntityText(text, e)
		if word == "" {
			continue
		}
		switch {
		case e.Type == models.MessageEntityTypeMention && m.IsGroup() && i.isBotName(strings.TrimPrefix(word, "@")),
			e.Type == models.MessageEntityTypeTextMention && m.IsGroup() && e.User != nil && e.User.ID == i.user.ID:
		case e.Type == models.MessageEntityTypeBotCommand && strings.Contains(word, "@"):
			name, bot, _ := strings.Cut(word, "@")
			if !i.isBotName(bot) {
				continue
			}
			r.From += len(utf16.Encode([]rune(name)))
		default:
			continue
		}
		if r.To < len(units) && units[r.To] == ' ' && (r.From == 0 || units[r.From-1] == ' ') {
			r.To++ // one of the two spaces around it
		}
		omitted = append(omitted, r)
	}
	rendered := updates.RenderMarkdown(text, entities, omitted)
	if len(omitted) > 0 {
		rendered = strings.TrimSpace(rendered)
	}
	return rendered
}
