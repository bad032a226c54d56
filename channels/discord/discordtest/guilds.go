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

// channel is a channel with its messages, in order.
type channel struct {
	Channel
	messages    []*Message
	byID        map[string]*Message
	typingCount int
}

// AddUser adds a user, with a new ID if it has none.
func (s *Server) AddUser(u User) User {
	s.Update(func() { u = s.addUser(u) })
	return u
}

func (s *Server) addUser(u User) User {
	if u.ID == "" {
		u.ID = s.newID()
	}
	u.Username = cmp.Or(u.Username, "user"+u.ID)
	u.Discriminator = cmp.Or(u.Discriminator, "0")
	s.users[u.ID] = u
	return u
}

// userByID returns a user, which it adds if necessary.
func (s *Server) userByID(id string) User {
	if u, ok := s.users[id]; ok {
		return u
	}
	return s.addUser(User{ID: id})
}

// AddGuild adds a guild that the bot is a member of.
func (s *Server) AddGuild(name string) (g Guild) {
	s.Update(func() {
		g = Guild{ID: s.newID(), Name: name, OwnerID: s.addUser(User{}).ID, BotRole: s.newID()}
		s.guilds[g.ID] = &guild{Guild: g, joined: s.Now()}
		s.dispatch("GUILD_CREATE", intentGuilds, s.guildCreateEvent(g.ID))
	})
	return g
}

// AddChannel adds a text channel.
func (s *Server) AddChannel(guild, name string) Channel {
	return s.addChannel(Channel{Type: TextChannel, GuildID: guild, Name: name})
}

// AddForum adds a forum, which accepts only posts.
func (s *Server) AddForum(guild, name string) Channel {
	return s.addChannel(Channel{Type: ForumChannel, GuildID: guild, Name: name})
}

func (s *Server) addChannel(c Channel) Channel {
	s.Update(func() {
		c.ID = s.newID()
		s.channels[c.ID] = &channel{Channel: c}
		s.dispatch("CHANNEL_CREATE", intentGuilds, c)
	})
	return c
}

// AddThread makes a new user start a thread in a text channel.
func (s *Server) AddThread(parent, name string) (c Channel) {
	s.Update(func() { c = s.addThread(s.channels[parent], s.newID(), name, s.addUser(User{}).ID).Channel })
	return c
}

// AddPrivateThread makes a new user start a thread that only its members see.
func (s *Server) AddPrivateThread(parent, name string) (c Channel) {
	s.Update(func() {
		thread := s.addThreadOf(PrivateThread, Channel{ID: s.newID(), ParentID: parent, Name: name, OwnerID: s.addUser(User{}).ID})
		c = thread.Channel
	})
	return c
}

// AddPost makes a user create a post in a forum: a thread whose first message has the thread's ID.
func (s *Server) AddPost(forum, user, title, text string, files ...File) (c Channel, m Message) {
	s.Update(func() {
		thread := s.addThread(s.channels[forum], s.newID(), title, user)
		m = *s.addUserMessage(thread, user, Message{ID: thread.ID, Content: text}, files)
		c = thread.Channel
	})
	return c, m
}

// addThread adds a public thread and dispatches its event.
func (s *Server) addThread(parent *channel, id, name, owner string) *channel {
	return s.addThreadOf(PublicThread, Channel{ID: id, ParentID: parent.ID, Name: name, OwnerID: owner})
}

// addThreadOf adds a thread of a type and dispatches its event.
func (s *Server) addThreadOf(kind int, thread Channel) *channel {
	thread.Type, thread.GuildID = kind, s.channels[thread.ParentID].GuildID
	thread.Thread = &ThreadMetadata{AutoArchiveDuration: 1440, ArchiveTimestamp: s.Now().UTC()}
	c := &channel{Channel: thread}
	s.channels[thread.ID] = c
	s.dispatch("THREAD_CREATE", intentGuilds, struct {
		Channel
		New bool `json:"newly_created"`
	}{c.Channel, true})
	return c
}

// DM returns the DM channel of a user, which it creates if necessary. Discord sends bots no event
// for it.
func (s *Server) DM(user string) (c Channel) {
	s.Update(func() { c = s.dmChannel(user).Channel })
	return c
}

// SetDM sets the ID of a user's DM channel, for a bot that knows the channel from an earlier run.
func (s *Server) SetDM(user, id string) {
	s.Update(func() { s.addDM(user, id) })
}

func (s *Server) addDM(user, id string) {
	s.dms[user] = id
	s.channels[id] = &channel{Channel: Channel{ID: id, Type: DMChannel, Recipients: []User{s.userByID(user)}}}
}

func (s *Server) dmChannel(user string) *channel {
	id, ok := s.dms[user]
	if !ok {
		id = s.newID()
		s.addDM(user, id)
	}
	return s.channels[id]
}

// DenyAccess denies the bot access to a guild's channels, or to one channel and its threads (403,
// 50001), or makes a user refuse messages of the bot (403, 50007).
func (s *Server) DenyAccess(id string) { s.Update(func() { s.denied[id] = true }) }

// AllowAccess reverts DenyAccess.
func (s *Server) AllowAccess(id string) { s.Update(func() { delete(s.denied, id) }) }

// DeleteChannel deletes a channel or thread.
func (s *Server) DeleteChannel(id string) {
	s.Update(func() {
		c := s.channels[id]
		delete(s.channels, id)
		if c.Thread != nil {
			s.dispatch("THREAD_DELETE", intentGuilds, c.Channel)
		} else {
			s.dispatch("CHANNEL_DELETE", intentGuilds, c.Channel)
		}
	})
}

// ArchiveThread archives a thread. A message reopens it, unless it is locked (400, 160005).
func (s *Server) ArchiveThread(id string, locked bool) {
	s.Update(func() {
		ch := s.channels[id]
		ch.Thread.Archived, ch.Thread.Locked = true, locked
		s.dispatch("THREAD_UPDATE", intentGuilds, ch.Channel)
	})
}

// SetUploadLimit sets the maximum size of a file in a guild, or in DMs for "". The default is 10
// MiB; guilds of the second tier have 50 MiB, and of the third 100 MiB.
func (s *Server) SetUploadLimit(guild string, bytes int64) {
	s.Update(func() {
		s.uploadLimits[guild] = bytes
		if g := s.guilds[guild]; g != nil && bytes >= 50<<20 {
			g.PremiumTier = int(min(bytes/(50<<20)+1, 3))
		}
	})
}

func (s *Server) uploadLimit(guild string) int64 { return cmp.Or(s.uploadLimits[guild], 10<<20) }

// FindChannel returns a channel by its ID or its name.
func (s *Server) FindChannel(id string) (found Channel, ok bool) {
	s.Lock()
	defer s.Unlock()
	for _, c := range s.channels {
		if c.ID == id || c.Name == id && id != "" {
			return c.Channel, true
		}
	}
	return found, false
}

// visibleChannel returns a channel if the bot has access to it.
func (s *Server) visibleChannel(id string) (*channel, error) {
	c := s.channels[id]
	if c == nil {
		return nil, unknownChannel
	}
	if s.denied[c.ID] || s.denied[c.GuildID] || s.denied[c.ParentID] {
		return nil, missingAccess
	}
	return c, nil
}

// guildCreateEvent returns the event that describes a guild to a bot that connects.
func (s *Server) guildCreateEvent(id string) any {
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

// channelsOf returns the channels or threads of a guild that the bot has access to, oldest first.
func (s *Server) channelsOf(guild string, threads bool) []Channel {
	out := []Channel{}
	for id, c := range s.channels {
		if _, err := s.visibleChannel(id); err == nil && c.GuildID == guild && (c.Thread != nil) == threads {
			out = append(out, c.Channel)
		}
	}
	slices.SortFunc(out, func(a, b Channel) int { return cmp.Compare(parseID(a.ID), parseID(b.ID)) })
	return out
}

var unknownGuild = expectedError(http.StatusNotFound, 10004, "Unknown Guild")
