package discord

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// forUs tells whether a message is to be taken at all.
func (c *Channel) forUs(m *message, r room) bool {
	switch {
	case !isSpoken(m) || m.isEmpty():
		return false
	case r.guild == 0:
		return true
	case c.o.Groups == "off":
		return false
	}
	return c.o.Groups == "all" || c.addressed(m, r)
}

// addressed tells whether a message on a server speaks to the bot: by its name, by its role's, as a
// reply, or in a thread that the bot has begun.
func (c *Channel) addressed(m *message, r room) bool {
	me := c.world.self()
	if r.owner != 0 && r.owner == me {
		return true
	}
	if m.Referenced != nil && m.Referenced.Author.ID == me {
		return true
	}
	own := c.world.guild(r.guild).role
	return slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me }) ||
		own != 0 && slices.Contains(m.MentionRoles, own)
}

// A mention as it is written: of a user (in an old form with an exclamation mark), of a role; and
// an emoji of a server's own.
var (
	mention = regexp.MustCompile(`<@(!|&)?(\d+)>`)
	emoji   = regexp.MustCompile(`<a?:(\w+):\d+>`)
)

// spoken returns what a message says as people see it: names in place of ids, and without what only
// addressed it to the bot.
func (c *Channel) spoken(m *message, r room) string {
	me := c.world.self()
	own := c.world.guild(r.guild).role
	text := emoji.ReplaceAllString(m.Content, ":$1:")
	cut := false
	text = mention.ReplaceAllStringFunc(text, func(word string) string {
		parts := mention.FindStringSubmatch(word)
		id := parseFlake(parts[2])
		if r.guild != 0 && (parts[1] != "&" && id == me || parts[1] == "&" && own != 0 && id == own) {
			cut = true
			return gap
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
	text = strings.NewReplacer(gap+" ", "", " "+gap, "", gap, "").Replace(text)
	return strings.TrimSpace(text)
}

// gap stands where the bot was mentioned. No message contains it.
const gap = "\x00"
