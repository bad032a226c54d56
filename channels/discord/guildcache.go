package discord

import (
	"sync"

	"github.com/bwmarrin/discordgo"
)

// guildCache holds the bot's ID, its guilds, and the channels in which people can write, with only
// the fields that are used.
type guildCache struct {
	mu       sync.RWMutex
	bot      snowflake
	guilds   map[snowflake]guildInfo
	channels map[snowflake]channelInfo
	parents  map[snowflake]snowflake // of deleted threads
}

// guildInfo is a guild, which people call a server.
type guildInfo struct {
	boostTier int       // premium tier, which raises the upload limit
	botRole   snowflake // the bot's managed role, which people mention instead of the bot
	language  string    // that its people prefer; "": unknown
}

// defaultLocale is the preferred locale of a guild whose people have not chosen one.
const defaultLocale = "en-US"

// channelInfo is a channel or thread of a guild.
type channelInfo struct {
	name       string
	guild      snowflake
	parent     snowflake
	owner      snowflake // the user who opened a thread
	kind       discordgo.ChannelType
	starter    snowflake // the user for whom the bot opened a thread
	unreadable bool      // the bot may not read it
}

func newGuildCache() *guildCache {
	return &guildCache{
		guilds: map[snowflake]guildInfo{}, channels: map[snowflake]channelInfo{},
		parents: map[snowflake]snowflake{},
	}
}

func (c *guildCache) setBotID(me snowflake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bot = me
}

func (c *guildCache) botID() snowflake {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.bot
}

func (c *guildCache) channel(id snowflake) (channelInfo, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok := c.channels[id]
	return r, ok
}

// channelWith returns the channel of a message. One that is not in the cache has only a guild.
func (c *guildCache) channelWith(m *message) channelInfo {
	if r, ok := c.channel(m.Channel); ok {
		return r
	}
	return channelInfo{guild: m.Guild}
}

// isInGuild reports whether a channel belongs to a guild.
func (c *guildCache) isInGuild(id, guild snowflake) bool {
	r, ok := c.channel(id)
	return ok && r.guild == guild
}

func (c *guildCache) guild(id snowflake) guildInfo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.guilds[id]
}

// addGuild adds a guild with its channels and threads.
func (c *guildCache) addGuild(s guildObject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := guildInfo{boostTier: s.Tier, botRole: c.guilds[s.ID].botRole}
	if s.Locale != defaultLocale {
		g.language = s.Locale
	}
	for _, r := range s.Roles {
		if r.Tags.Bot != 0 && r.Tags.Bot == c.bot {
			g.botRole = r.ID
		}
	}
	c.guilds[s.ID] = g
	for _, ch := range s.Channels {
		c.setChannel(ch, s.ID)
	}
	for _, ch := range s.Threads {
		c.setChannel(ch, s.ID)
	}
}

func (c *guildCache) removeGuild(id snowflake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.guilds, id)
	for r, room := range c.channels {
		if room.guild == id {
			delete(c.channels, r)
		}
	}
}

func (c *guildCache) addChannel(ch channelObject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setChannel(ch, ch.Guild)
}

func (c *guildCache) setChannel(ch channelObject, g snowflake) {
	if ch.ID == 0 || g == 0 || !hasMessages(ch.Type) {
		return
	}
	c.channels[ch.ID] = channelInfo{
		name: ch.Name, guild: g, parent: ch.Parent, owner: ch.Owner, kind: ch.Type,
		starter: c.channels[ch.ID].starter, unreadable: c.channels[ch.ID].unreadable,
	}
}

// setStarter sets the user for whom the bot has opened a thread.
func (c *guildCache) setStarter(thread, user snowflake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.channels[thread]
	r.starter = user
	c.channels[thread] = r
}

// removeChannel removes a deleted channel or thread. The channel of a thread is remembered for
// answers that are still to be sent.
func (c *guildCache) removeChannel(id snowflake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.channels[id]; isPublicThread(r.kind) {
		if len(c.parents) >= maxDeletedThreads {
			clear(c.parents)
		}
		c.parents[id] = r.parent
	}
	delete(c.channels, id)
}

// maxDeletedThreads bounds the remembered threads.
const maxDeletedThreads = 256

// parentOf returns the channel of a public thread that exists or was deleted; 0 if it is unknown or
// has no messages, as a forum. Whoever reads the channel could also read the thread.
func (c *guildCache) parentOf(thread snowflake) snowflake {
	c.mu.RLock()
	defer c.mu.RUnlock()
	parent := c.parents[thread]
	if r := c.channels[thread]; isPublicThread(r.kind) {
		parent = r.parent
	}
	if _, ok := c.channels[parent]; !ok {
		return 0
	}
	return parent
}

// setUnreadable records whether the bot may not read a channel, so that its history is not
// requested again.
func (c *guildCache) setUnreadable(id snowflake, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.channels[id]; ok {
		r.unreadable = closed
		c.channels[id] = r
	}
}

// knowsGuildOf reports whether the guild of a channel is in the cache.
func (c *guildCache) knowsGuildOf(id snowflake) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.guilds[c.channels[id].guild]
	return ok
}

// uploadLimit is the largest file that a channel accepts. It depends on the guild's premium tier.
func (c *guildCache) uploadLimit(id snowflake) int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch c.guilds[c.channels[id].guild].boostTier {
	case 2:
		return 50 << 20
	case 3:
		return 100 << 20
	}
	return baseUploadLimit
}
