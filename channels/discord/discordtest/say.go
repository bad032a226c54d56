package discordtest

import (
	"slices"
	"strings"
)

// UserSends has a user say something in a channel, which the bot is told if it is connected. Mentions are
// written <@id>.
func (s *Server) UserSends(channel, user, text string, files ...File) Message {
	return s.speakAs(channel, user, Message{Content: text}, files)
}

// UserReplies is Say in answer to a message of the same channel.
func (s *Server) UserReplies(channel, user, to, text string, files ...File) Message {
	return s.speakAs(channel, user, Message{
		Content: text, Type: TypeReply, Reference: &Reference{MessageID: to, ChannelID: channel},
	}, files)
}

// UserPosts is Say for everything else: stickers, embeds, other types of message.
func (s *Server) UserPosts(channel, user string, m Message) Message {
	var files []File
	for _, a := range m.Attachments {
		files = append(files, File{Name: a.Filename, Type: a.ContentType, Content: a.Content, Size: a.Size})
	}
	m.Attachments = nil
	return s.speakAs(channel, user, m, files)
}

func (s *Server) speakAs(channel, user string, m Message, files []File) (said Message) {
	s.update(func() { said = *s.say(s.channels[channel], user, m, files) })
	return said
}

func (s *Server) say(ch *channel, user string, m Message, files []File) *Message {
	m.Author, m.Call = s.user(user), 0
	for _, f := range files {
		m.Attachments = append(m.Attachments, s.store(ch.ID, f, ""))
	}
	m.Content = strings.TrimSpace(m.Content)
	s.mention(nil, &m)
	s.add(ch, &m)
	s.announce("MESSAGE_CREATE", &m)
	return &m
}

// UserEdits has a message's author change its text.
func (s *Server) UserEdits(channel, message, text string) {
	s.update(func() {
		if m := s.channels[channel].find(message); m != nil {
			m.Content, m.Edited, m.Edits = text, new(s.now().UTC()), m.Edits+1
			s.announce("MESSAGE_UPDATE", m)
		}
	})
}

// UserDeletes has a message's author, or a moderator, delete it.
func (s *Server) UserDeletes(channel, message string) {
	s.update(func() {
		if m := s.channels[channel].find(message); m != nil {
			m.Deleted = true
			s.announceGone(m)
		}
	})
}

// view is a message as REST shows it: with addresses that are good now, and without what the bot
// may not read.
func (s *Server) view(m *Message) Message {
	v := s.shape(m, s.portal)
	v.GuildID, v.Nonce = "", ""
	return v
}

// withNonce is a message as the answer to its create shows it.
func (s *Server) withNonce(m *Message) Message {
	v := s.view(m)
	v.Nonce = m.Nonce
	return v
}

// shape is a message for a bot with these intents.
func (s *Server) shape(m *Message, intents int) Message {
	v := *m
	if ch := s.channels[m.ChannelID]; ch != nil {
		v.GuildID = ch.GuildID
	}
	if m.Thread != nil {
		v.Thread = new(*m.Thread)
	}
	v.Attachments = []Attachment{}
	for _, a := range m.Attachments {
		v.Attachments = append(v.Attachments, s.sign(m.ChannelID, a))
	}
	if to := s.referenced(m); to != nil {
		quoted := s.shape(to, intents)
		quoted.Referenced, quoted.GuildID, quoted.Nonce = nil, "", ""
		v.Referenced = &quoted
	}
	mine := m.Author.ID == s.Bot.ID || slices.ContainsFunc(m.Mentions, func(u User) bool { return u.ID == s.Bot.ID })
	if v.GuildID != "" && !mine && intents&intentContent == 0 {
		v.Content, v.Attachments, v.Embeds, v.Components = "", []Attachment{}, []Embed{}, []Component{}
	}
	return v
}

// messageEvent is a message as the gateway tells of it.
type messageEvent struct {
	Message
	ChannelType int            `json:"channel_type"`
	Member      map[string]any `json:"member,omitempty"`
}

// announce tells of a message. What only one person can see is not told of.
func (s *Server) announce(event string, m *Message) {
	ch := s.channels[m.ChannelID]
	if ch == nil || m.Flags&FlagEphemeral != 0 {
		return
	}
	if _, err := s.reach(ch.ID); err != nil {
		return
	}
	s.dispatchTo(event, messageIntent(ch), func(intents int) any {
		e := messageEvent{Message: s.shape(m, intents), ChannelType: ch.Type}
		if ch.GuildID != "" {
			e.Member = map[string]any{"roles": []string{}, "joined_at": m.Timestamp, "deaf": false, "mute": false}
		}
		return e
	})
}

func (s *Server) announceGone(m *Message) {
	ch := s.channels[m.ChannelID]
	gone := map[string]string{"id": m.ID, "channel_id": m.ChannelID}
	if ch.GuildID != "" {
		gone["guild_id"] = ch.GuildID
	}
	s.dispatch("MESSAGE_DELETE", messageIntent(ch), gone)
}

func messageIntent(ch *channel) int {
	if ch.GuildID == "" {
		return intentDMs
	}
	return intentMessages
}
