package discordtest

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

type guild struct {
	Guild
	joined time.Time
}

// channel is a channel and what was said in it, in order.
type channel struct {
	Channel
	messages []*Message
	byID     map[string]*Message
	typing   int
}

// AddUser makes a person known, with a new id if it has none.
func (s *Server) AddUser(u User) User {
	s.update(func() { u = s.addUser(u) })
	return u
}

func (s *Server) addUser(u User) User {
	if u.ID == "" {
		u.ID = s.id()
	}
	u.Username = cmp.Or(u.Username, "user"+u.ID)
	u.Discriminator = cmp.Or(u.Discriminator, "0")
	s.users[u.ID] = u
	return u
}

// user returns a person, whom it makes known if need be.
func (s *Server) user(id string) User {
	if u, ok := s.users[id]; ok {
		return u
	}
	return s.addUser(User{ID: id})
}

// AddGuild makes a Discord server of which the bot is a member.
func (s *Server) AddGuild(name string) (g Guild) {
	s.update(func() {
		g = Guild{ID: s.id(), Name: name, OwnerID: s.addUser(User{}).ID, BotRole: s.id()}
		s.guilds[g.ID] = &guild{Guild: g, joined: s.now()}
		s.dispatch("GUILD_CREATE", intentGuilds, s.guildCreate(g.ID))
	})
	return g
}

// AddChannel makes a text channel.
func (s *Server) AddChannel(guild, name string) Channel {
	return s.addChannel(Channel{Type: TextChannel, GuildID: guild, Name: name})
}

// AddForum makes a forum, in which only posts can be made.
func (s *Server) AddForum(guild, name string) Channel {
	return s.addChannel(Channel{Type: ForumChannel, GuildID: guild, Name: name})
}

func (s *Server) addChannel(c Channel) Channel {
	s.update(func() {
		c.ID = s.id()
		s.channels[c.ID] = &channel{Channel: c}
		s.dispatch("CHANNEL_CREATE", intentGuilds, c)
	})
	return c
}

// AddThread has somebody start a thread in a text channel.
func (s *Server) AddThread(parent, name string) (c Channel) {
	s.update(func() { c = s.thread(s.channels[parent], s.id(), name, s.addUser(User{}).ID).Channel })
	return c
}

// AddPost has a user make a post in a forum: a thread whose first message has the thread's id.
func (s *Server) AddPost(forum, user, title, text string, files ...File) (c Channel, m Message) {
	s.update(func() {
		thread := s.thread(s.channels[forum], s.id(), title, user)
		m = *s.say(thread, user, Message{ID: thread.ID, Content: text}, files)
		c = thread.Channel
	})
	return c, m
}

// thread makes a thread and tells of it.
func (s *Server) thread(parent *channel, id, name, owner string) *channel {
	c := &channel{Channel: Channel{
		ID: id, Type: PublicThread, GuildID: parent.GuildID, ParentID: parent.ID, Name: name, OwnerID: owner,
		Thread: &ThreadMetadata{AutoArchiveDuration: 1440, ArchiveTimestamp: s.now().UTC()},
	}}
	s.channels[id] = c
	s.dispatch("THREAD_CREATE", intentGuilds, struct {
		Channel
		New bool `json:"newly_created"`
	}{c.Channel, true})
	return c
}

// DM returns the conversation between a user and the bot, which it makes if need be. Discord does
// not tell bots of it.
func (s *Server) DM(user string) (c Channel) {
	s.update(func() { c = s.dm(user).Channel })
	return c
}

// SetDM gives the conversation between a user and the bot an id, for a test of a bot that knows it
// from earlier.
func (s *Server) SetDM(user, id string) {
	s.update(func() { s.addDM(user, id) })
}

func (s *Server) addDM(user, id string) {
	s.dms[user] = id
	s.channels[id] = &channel{Channel: Channel{ID: id, Type: DMChannel, Recipients: []User{s.user(user)}}}
}

func (s *Server) dm(user string) *channel {
	id, ok := s.dms[user]
	if !ok {
		id = s.id()
		s.addDM(user, id)
	}
	return s.channels[id]
}

// DenyAccess takes a guild's channels, or one channel and its threads, from the bot (403, 50001), or has
// a user take no more messages from it (403, 50007).
func (s *Server) DenyAccess(id string) { s.update(func() { s.denied[id] = true }) }

// AllowAccess undoes Deny.
func (s *Server) AllowAccess(id string) { s.update(func() { delete(s.denied, id) }) }

// DeleteChannel deletes a channel or thread.
func (s *Server) DeleteChannel(id string) {
	s.update(func() {
		c := s.channels[id]
		delete(s.channels, id)
		if c.Thread != nil {
			s.dispatch("THREAD_DELETE", intentGuilds, c.Channel)
		} else {
			s.dispatch("CHANNEL_DELETE", intentGuilds, c.Channel)
		}
	})
}

// SetUploadLimit says how big a file a guild takes, or DMs for "". It is 10 MiB at first; guilds of
// the second tier have 50 and those of the third 100 MiB.
func (s *Server) SetUploadLimit(guild string, bytes int64) {
	s.update(func() {
		s.limits[guild] = bytes
		if g := s.guilds[guild]; g != nil && bytes >= 50<<20 {
			g.PremiumTier = int(min(bytes/(50<<20)+1, 3))
		}
	})
}

func (s *Server) uploadLimit(guild string) int64 { return cmp.Or(s.limits[guild], 10<<20) }

// reach returns a channel that the bot may see.
func (s *Server) reach(id string) (*channel, error) {
	c := s.channels[id]
	if c == nil {
		return nil, unknownChannel
	}
	if s.denied[c.ID] || s.denied[c.GuildID] || s.denied[c.ParentID] {
		return nil, missingAccess
	}
	return c, nil
}

// guildCreate is what the bot is told of a guild when it comes online.
func (s *Server) guildCreate(id string) any {
	g := s.guilds[id]
	bot := map[string]any{"user": s.Bot, "roles": []string{g.BotRole}, "joined_at": g.joined.UTC()}
	role := map[string]any{"id": g.BotRole, "name": s.Bot.Username, "managed": true, "tags": map[string]string{"bot_id": s.Bot.ID}}
	everyone := map[string]any{"id": g.ID, "name": "@everyone"}
	return map[string]any{
		"id": g.ID, "name": g.Name, "owner_id": g.OwnerID, "premium_tier": g.PremiumTier, "joined_at": g.joined.UTC(),
		"unavailable": false, "large": false, "member_count": 2, "members": []any{bot}, "roles": []any{everyone, role},
		"channels": s.channelsOf(id, false), "threads": s.channelsOf(id, true),
	}
}

// channelsOf are the channels or threads of a guild that the bot may see, oldest first.
func (s *Server) channelsOf(guild string, threads bool) []Channel {
	out := []Channel{}
	for id, c := range s.channels {
		if _, err := s.reach(id); err == nil && c.GuildID == guild && (c.Thread != nil) == threads {
			out = append(out, c.Channel)
		}
	}
	slices.SortFunc(out, func(a, b Channel) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	return out
}

var unknownGuild = refuse(http.StatusNotFound, 10004, "Unknown Guild")
