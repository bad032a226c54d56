package discordtest

import (
	"slices"
	"strings"
)

// UserSends makes a user send a message in a channel. Mentions are written <@ID>.
func (s *Server) UserSends(channel, user, text string, files ...File) Message {
	return s.userMessage(channel, user, Message{Content: text}, files)
}

// UserReplies makes a user reply to a message of the same channel.
func (s *Server) UserReplies(channel, user, to, text string, files ...File) Message {
	return s.userMessage(channel, user, Message{
		Content: text, Type: TypeReply, Reference: &Reference{MessageID: to, ChannelID: channel},
	}, files)
}

// UserPosts makes a user send any other message, for example with stickers, embeds or another type.
func (s *Server) UserPosts(channel, user string, m Message) Message {
	var files []File
	for _, a := range m.Attachments {
		files = append(files, File{Name: a.Filename, Type: a.ContentType, Content: a.Content, Size: a.Size})
	}
	m.Attachments = nil
	return s.userMessage(channel, user, m, files)
}

func (s *Server) userMessage(channel, user string, m Message, files []File) (said Message) {
	s.Update(func() { said = *s.addUserMessage(s.channels[channel], user, m, files) })
	return said
}

func (s *Server) addUserMessage(ch *channel, user string, m Message, files []File) *Message {
	m.Author, m.Call = s.userByID(user), 0
	for _, f := range files {
		m.Attachments = append(m.Attachments, s.storeFile(ch.ID, f, ""))
	}
	m.Content = strings.TrimSpace(m.Content)
	s.setMentions(nil, &m)
	s.appendMessage(ch, &m)
	s.dispatchMessage("MESSAGE_CREATE", &m)
	return &m
}

// UserEdits makes the author of a message change its text.
func (s *Server) UserEdits(channel, message, text string) {
	s.Update(func() {
		if m := s.channels[channel].find(message); m != nil {
			m.Content, m.Edited, m.Edits = text, new(s.Now().UTC()), m.Edits+1
			s.dispatchMessage("MESSAGE_UPDATE", m)
		}
	})
}

// ResolveLinks adds the preview of a link to a message, which Discord reports as an update without
// an edit.
func (s *Server) ResolveLinks(channel, message string, preview Embed) {
	s.Update(func() {
		if m := s.channels[channel].find(message); m != nil {
			m.Embeds = append(m.Embeds, preview)
			s.dispatchMessage("MESSAGE_UPDATE", m)
		}
	})
}

// ModeratorDeletes deletes several messages at once, which Discord reports as one event.
func (s *Server) ModeratorDeletes(channel string, messages ...string) {
	s.Update(func() {
		ch := s.channels[channel]
		for _, id := range messages {
			if m := ch.find(id); m != nil {
				m.Deleted = true
			}
		}
		s.dispatch("MESSAGE_DELETE_BULK", messageIntent(ch), map[string]any{"ids": messages, "channel_id": ch.ID, "guild_id": ch.GuildID})
	})
}

// UserDeletes makes the author of a message, or a moderator, delete it.
func (s *Server) UserDeletes(channel, message string) {
	s.Update(func() {
		if m := s.channels[channel].find(message); m != nil {
			m.Deleted = true
			s.dispatchDelete(m)
		}
	})
}

// restView returns a message as the REST API shows it: with valid URLs, and without content that
// the bot may not read.
func (s *Server) restView(m *Message) Message {
	v := s.messageFor(m, s.privilegedIntents)
	v.GuildID, v.Nonce = "", ""
	return v
}

// withNonce returns a message as the response to its creation shows it.
func (s *Server) withNonce(m *Message) Message {
	v := s.restView(m)
	v.Nonce = m.Nonce
	return v
}

// messageFor returns a message as a bot with these intents sees it.
func (s *Server) messageFor(m *Message, intents int) Message {
	v := *m
	if ch := s.channels[m.ChannelID]; ch != nil {
		v.GuildID = ch.GuildID
	}
	if m.Thread != nil {
		v.Thread = new(*m.Thread)
	}
	v.Attachments = []Attachment{}
	for _, a := range m.Attachments {
		v.Attachments = append(v.Attachments, s.signURL(m.ChannelID, a))
	}
	if to := s.referenced(m); to != nil {
		quoted := s.messageFor(to, intents)
		quoted.Referenced, quoted.GuildID, quoted.Nonce = nil, "", ""
		v.Referenced = &quoted
	}
	mine := m.Author.ID == s.Bot.ID || slices.ContainsFunc(m.Mentions, func(u User) bool { return u.ID == s.Bot.ID })
	if v.GuildID != "" && !mine && intents&intentContent == 0 {
		v.Content, v.Attachments, v.Embeds, v.Components = "", []Attachment{}, []Embed{}, []Component{}
	}
	return v
}

// messageEvent is a message in an event of the gateway.
type messageEvent struct {
	Message
	ChannelType int            `json:"channel_type"`
	Member      map[string]any `json:"member,omitempty"`
}

// dispatchMessage dispatches the event of a message, unless only one person can see the message.
func (s *Server) dispatchMessage(event string, m *Message) {
	ch := s.channels[m.ChannelID]
	if ch == nil || m.Flags&FlagEphemeral != 0 {
		return
	}
	if _, err := s.visibleChannel(ch.ID); err != nil {
		return
	}
	s.dispatchPerIntents(event, messageIntent(ch), func(intents int) any {
		e := messageEvent{Message: s.messageFor(m, intents), ChannelType: ch.Type}
		if ch.GuildID != "" {
			e.Member = map[string]any{"roles": []string{}, "joined_at": m.Timestamp, "deaf": false, "mute": false}
		}
		return e
	})
}

func (s *Server) dispatchDelete(m *Message) {
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
