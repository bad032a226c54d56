package telegram

import (
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// isForBot reports whether a message is to be received at all. For an album, one part is enough.
func (c *Channel) isForBot(m *message) bool {
	switch {
	case m.Chat.Type == models.ChatTypeChannel, m.IsAutoForward: // a channel's post, or its copy in the discussion group
		return false
	case m.Text == "" && m.Caption == "" && m.attachedFile() == nil && m.describeExtras() == "": // a service message, such as a join or a new topic
		return false
	}
	return c.isAddressed(m)
}

// isAddressed reports whether a person has written a message to the bot.
func (c *Channel) isAddressed(m *message) bool {
	switch {
	case m.SenderChat == nil && (m.From == nil || m.From.IsBot):
		return false
	case !m.isGroup() || m.isEdit: // of an edited message the gateway knows whether it was for the bot
		return true
	case c.o.Groups == "off":
		return false
	}
	if to, ok := c.commandTarget(m); ok && to != "" {
		return c.isBotName(to)
	}
	return c.o.Groups == "all" || c.addressesBot(m)
}

// addressesBot reports whether a message in a group mentions the bot, replies to it, or is one of
// its commands.
func (c *Channel) addressesBot(m *message) bool {
	if r := m.repliedTo(); r != nil && r.From != nil && r.From.ID == c.botUser.ID {
		return true
	}
	text, marks := m.textAndEntities()
	for _, e := range marks {
		switch e.Type {
		case models.MessageEntityTypeMention:
			if c.isBotName(strings.TrimPrefix(entityText(text, e), "@")) {
				return true
			}
		case models.MessageEntityTypeTextMention:
			if e.User != nil && e.User.ID == c.botUser.ID {
				return true
			}
		case models.MessageEntityTypeBotCommand:
			if c.isMenuCommand(entityText(text, e)) && e.Offset == 0 {
				return true
			}
		default: // formatting and links
		}
	}
	return false
}

// commandTarget returns the bot that a leading command names: /cmd@target.
func (c *Channel) commandTarget(m *message) (bot string, ok bool) {
	text, marks := m.textAndEntities()
	for _, e := range marks {
		if e.Type == models.MessageEntityTypeBotCommand && e.Offset == 0 {
			_, bot, _ = strings.Cut(entityText(text, e), "@")
			return bot, true
		}
	}
	return "", false
}

// isMenuCommand reports whether a command without a bot name is in the menu. Other commands may be
// for other bots of the group.
func (c *Channel) isMenuCommand(command string) bool {
	name := strings.ToLower(strings.TrimPrefix(command, "/"))
	for _, m := range c.menu.Commands() {
		if strings.ToLower(m.Name) == name {
			return true
		}
	}
	return name == "start"
}

func (c *Channel) isBotName(username string) bool {
	return c.botUser.Username != "" && strings.EqualFold(username, c.botUser.Username)
}

// contentText returns the text of a message as Markdown, without mentions of the bot.
func (c *Channel) contentText(m *message) string {
	text, entities := m.textAndEntities()
	units := utf16.Encode([]rune(text))
	var omitted []unitRange
	for _, e := range entities {
		r := unitRange{e.Offset, e.Offset + e.Length}
		word := entityText(text, e)
		if word == "" {
			continue
		}
		switch {
		case e.Type == models.MessageEntityTypeMention && m.isGroup() && c.isBotName(strings.TrimPrefix(word, "@")),
			e.Type == models.MessageEntityTypeTextMention && m.isGroup() && e.User != nil && e.User.ID == c.botUser.ID:
		case e.Type == models.MessageEntityTypeBotCommand && strings.Contains(word, "@"):
			name, bot, _ := strings.Cut(word, "@")
			if !c.isBotName(bot) {
				continue
			}
			r.from += len(utf16.Encode([]rune(name)))
		default:
			continue
		}
		if r.to < len(units) && units[r.to] == ' ' && (r.from == 0 || units[r.from-1] == ' ') {
			r.to++ // one of the two spaces around it
		}
		omitted = append(omitted, r)
	}
	rendered := renderMarkdown(text, entities, omitted)
	if len(omitted) > 0 {
		rendered = strings.TrimSpace(rendered)
	}
	return rendered
}

// entityText returns the text that an entity covers, or "". Offsets are in UTF-16 units.
func entityText(text string, e entity) string {
	units := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
		return ""
	}
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}
