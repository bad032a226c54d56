package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// forUs tells whether a message is to be taken at all. Of an album one part that is for us is
// enough.
func (c *Channel) forUs(m *message) bool {
	switch {
	case m.Chat.Type == models.ChatTypeChannel, m.IsAutoForward: // a channel's post, or its copy in the discussion group
		return false
	case m.Text == "" && m.Caption == "" && m.media() == nil && m.inWords() == "": // somebody came, a topic was made
		return false
	case m.SenderChat == nil && (m.From == nil || m.From.IsBot):
		return false
	case !m.isGroup():
		return true
	case c.o.Groups == "off":
		return false
	}
	if to, ok := c.command(m); ok && to != "" {
		return c.isMe(to)
	}
	return c.o.Groups == "all" || c.addressed(m)
}

// addressed tells whether a message in a group speaks to the bot: by its name, as a reply, or with
// one of our commands.
func (c *Channel) addressed(m *message) bool {
	if r := m.reply(); r != nil && r.From != nil && r.From.ID == c.me.ID {
		return true
	}
	text, marks := m.words()
	for _, e := range marks {
		switch e.Type {
		case models.MessageEntityTypeMention:
			if c.isMe(strings.TrimPrefix(slice(text, e), "@")) {
				return true
			}
		case models.MessageEntityTypeTextMention:
			if e.User != nil && e.User.ID == c.me.ID {
				return true
			}
		case models.MessageEntityTypeBotCommand:
			if c.known(slice(text, e)) && e.Offset == 0 {
				return true
			}
		default: // formatting and links speak to nobody
		}
	}
	return false
}

// command returns whom a message that starts with a command names: /cmd@whom.
func (c *Channel) command(m *message) (whom string, ok bool) {
	text, marks := m.words()
	for _, e := range marks {
		if e.Type == models.MessageEntityTypeBotCommand && e.Offset == 0 {
			_, whom, _ = strings.Cut(slice(text, e), "@")
			return whom, true
		}
	}
	return "", false
}

// known tells whether a command without a name is in our menu. Others may be meant for other bots
// of the group.
func (c *Channel) known(command string) bool {
	name := strings.ToLower(strings.TrimPrefix(command, "/"))
	for _, m := range c.menu {
		if strings.ToLower(m.Name) == name {
			return true
		}
	}
	return name == "start"
}

func (c *Channel) isMe(username string) bool {
	return c.me.Username != "" && strings.EqualFold(username, c.me.Username)
}

// spoken returns what a message says without what only addressed it to the bot.
func (c *Channel) spoken(m *message) string {
	text, marks := m.words()
	units := utf16.Encode([]rune(text))
	cut := false
	for _, e := range slices.Backward(marks) {
		from, to := e.Offset, e.Offset+e.Length
		word := slice(text, e)
		if word == "" {
			continue
		}
		switch {
		case e.Type == models.MessageEntityTypeMention && m.isGroup() && c.isMe(strings.TrimPrefix(word, "@")),
			e.Type == models.MessageEntityTypeTextMention && m.isGroup() && e.User != nil && e.User.ID == c.me.ID:
		case e.Type == models.MessageEntityTypeBotCommand && strings.Contains(word, "@"):
			name, whom, _ := strings.Cut(word, "@")
			if !c.isMe(whom) {
				continue
			}
			from += len(utf16.Encode([]rune(name)))
		default:
			continue
		}
		if to < len(units) && units[to] == ' ' && (from == 0 || units[from-1] == ' ') {
			to++ // one of the two spaces around it
		}
		units = slices.Delete(units, from, to)
		cut = true
	}
	if !cut {
		return text
	}
	return strings.TrimSpace(string(utf16.Decode(units)))
}

// slice returns what an entity covers, or "". Telegram counts in UTF-16 units.
func slice(text string, e entity) string {
	units := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
		return ""
	}
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}
