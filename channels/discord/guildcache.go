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
}

// guildInfo is a guild, which people call a server.
type guildInfo struct {
	boostTier int       // premium tier, which raises the upload limit
	botRole   snowflake // the bot's managed role, which people mention instead of the bot
}

// channelInfo is a channel or thread of a guild.
type channelInfo struct {
	guild      snowflake
	parent     snowflake
	owner      snowflake // the user who opened a thread
	kind       discordgo.ChannelType
	unreadable bool // the bot may not read it
}

func newGuildCache() *guildCache {
	return &guildCache{guilds: map[snowflake]guildInfo{}, channels: map[snowflake]channelInfo{}}
}

func (w *guildCache) setBotID(me snowflake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bot = me
}

func (w *guildCache) botID() snowflake {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.bot
}

func (w *guildCache) channel(id snowflake) (channelInfo, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	r, ok := w.channels[id]
	return r, ok
}

// isInGuild tells whether a channel belongs to a guild.
func (w *guildCache) isInGuild(id, guild snowflake) bool {
	r, ok := w.channel(id)
	return ok && r.guild == guild
}

func (w *guildCache) guild(id snowflake) guildInfo {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.guilds[id]
}

// addGuild adds a guild with its channels and threads.
func (w *guildCache) addGuild(s guildObject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := guildInfo{boostTier: s.Tier, botRole: w.guilds[s.ID].botRole}
	for _, r := range s.Roles {
		if r.Tags.Bot != 0 && r.Tags.Bot == w.bot {
			g.botRole = r.ID
		}
	}
	w.guilds[s.ID] = g
	for _, p := range s.Channels {
		w.setChannel(p, s.ID)
	}
	for _, p := range s.Threads {
		w.setChannel(p, s.ID)
	}
}

func (w *guildCache) removeGuild(id snowflake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.guilds, id)
	for r, room := range w.channels {
		if room.guild == id {
			delete(w.channels, r)
		}
	}
}

func (w *guildCache) addChannel(p channelObject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setChannel(p, p.Guild)
}

func (w *guildCache) setChannel(p channelObject, g snowflake) {
	if p.ID == 0 || g == 0 || !hasMessages(p.Type) {
		return
	}
	w.channels[p.ID] = channelInfo{guild: g, parent: p.Parent, owner: p.Owner, kind: p.Type, unreadable: w.channels[p.ID].unreadable}
}

func (w *guildCache) removeChannel(id snowflake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.channels, id)
}

// markUnreadable records that the bot may not read a channel, so that its history is not requested
// again; markReadable undoes it.
func (w *guildCache) markUnreadable(id snowflake) { w.setUnreadable(id, true) }
func (w *guildCache) markReadable(id snowflake)   { w.setUnreadable(id, false) }

func (w *guildCache) setUnreadable(id snowflake, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.channels[id]; ok {
		r.unreadable = closed
		w.channels[id] = r
	}
}

// knowsGuildOf tells whether the guild of a channel is in the cache.
func (w *guildCache) knowsGuildOf(id snowflake) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.guilds[w.channels[id].guild]
	return ok
}

// uploadLimit is the largest file that a channel accepts. It depends on the guild's premium tier.
func (w *guildCache) uploadLimit(id snowflake) int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	switch w.guilds[w.channels[id].guild].boostTier {
	case 2:
		return 50 << 20
	case 3:
		return 100 << 20
	}
	return baseUploadLimit
}
