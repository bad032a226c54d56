package discord

import (
	"cmp"
	"slices"
	"strings"

	"nanobot/internal/lazyregexp"
)

// isForBot reports whether a message is to be received at all.
func (c *Channel) isForBot(m *message, r channelInfo) bool {
	switch {
	case !isUserMessage(m) || m.isEmpty():
		return false
	case r.guild == 0:
		return true
	case c.o.Groups == "off":
		return false
	}
	return c.o.Groups == "all" || c.addressesBot(m, r)
}

// addressesBot reports whether a message on a server mentions the bot or its role, replies to the
// bot, or is in a thread that the bot has opened.
func (c *Channel) addressesBot(m *message, r channelInfo) bool {
	me := c.guilds.botID()
	if r.owner != 0 && r.owner == me {
		return true
	}
	if m.Referenced != nil && m.Referenced.Author.ID == me {
		return true
	}
	own := c.guilds.guild(r.guild).botRole
	return slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me }) ||
		own != 0 && slices.Contains(m.MentionRoles, own)
}

// The notation of mentions of users (with an exclamation mark in an old form) and roles, and of
// custom emoji.
var (
	mention = lazyregexp.New(`<@(!|&)?(\d+)>`)
	emoji   = lazyregexp.New(`<a?:(\w+):\d+>`)
)

// contentText returns the text of a message as people see it: names instead of IDs, without
// mentions of the bot.
func (c *Channel) contentText(m *message, r channelInfo) string {
	me := c.guilds.botID()
	own := c.guilds.guild(r.guild).botRole
	text := emoji().ReplaceAllString(m.Content, ":$1:")
	cut := false
	text = mention().ReplaceAllStringFunc(text, func(word string) string {
		parts := mention().FindStringSubmatch(word)
		id := parseSnowflake(parts[2])
		if r.guild != 0 && (parts[1] != "&" && id == me || parts[1] == "&" && own != 0 && id == own) {
			cut = true
			return mentionPlaceholder
		}
		for _, u := range m.Mentions {
			if parts[1] != "&" && u.ID == id {
				return "@" + cmp.Or(u.GlobalName, u.Username)
			}
		}
		return word
	})
	if !cut {
		return text
	}
	text = strings.NewReplacer(mentionPlaceholder+" ", "", " "+mentionPlaceholder, "", mentionPlaceholder,
		"").Replace(text)
	return strings.TrimSpace(text)
}

// mentionPlaceholder temporarily replaces a mention of the bot. No message contains it.
const mentionPlaceholder = "\x00"
