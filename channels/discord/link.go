package discord

import "nanobot/channels"

// LinkMessage returns the address of a message. The message from which a thread was opened has the
// ID of the thread and is in the channel above.
func (c *Channel) LinkMessage(to channels.Chat, group bool, id string) string {
	at, message := parseSnowflake(to.ID), parseSnowflake(id)
	where, known := c.guilds.channel(at)
	server := "@me"
	switch {
	case at == 0 || message == 0 || group && !known:
		return ""
	case known:
		server = where.guild.String()
	}
	if message == at && where.parent != 0 {
		at = where.parent
	}
	return "https://discord.com/channels/" + server + "/" + at.String() + "/" + message.String()
}
