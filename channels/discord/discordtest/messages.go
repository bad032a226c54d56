package discordtest

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// writableChannel returns a channel if the bot may send messages to it.
func (s *Server) writableChannel(id string) (*channel, error) {
	c, err := s.visibleChannel(id)
	switch {
	case err != nil:
		return nil, err
	case c.Thread != nil && c.Thread.Locked:
		return nil, expectedError(http.StatusBadRequest, 160005, "Thread is locked")
	case c.Type == ForumChannel:
		return nil, violationError(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	case c.Type == DMChannel && s.denied[c.Recipients[0].ID]:
		return nil, expectedError(http.StatusForbidden, 50007, "Cannot send messages to this user")
	}
	return c, nil
}

// nonceLifetime is how long a nonce is remembered. Discord documents "the past few minutes".
const nonceLifetime = 5 * time.Minute

// usedNonce is a nonce that was sent with enforce_nonce.
type usedNonce struct {
	message *Message
	at      time.Time
}

func (s *Server) createMessage(c *Call) (any, error) {
	ch, err := s.writableChannel(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	d, err := decodeBody[draft](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	nonce, err := d.nonce()
	if err != nil {
		return nil, err
	}
	if d.flags()&^createFlags != 0 {
		return nil, fieldError("flags", "BASE_TYPE_CHOICES", "flags %d cannot be set here", d.flags())
	}
	m := &Message{ID: s.newID(), Author: s.Bot, Nonce: nonce, TTS: d.TTS, Call: c.ID}
	if err := s.applyDraft(c, ch, "", d, m); err != nil {
		return nil, err
	}
	if nonce != "" && d.Enforce {
		if seen := s.nonces[nonce]; seen != nil && s.Now().Sub(seen.at) < nonceLifetime {
			if seen.message.ChannelID != ch.ID {
				s.AddViolation("%s: the nonce %q was used in the channel %s a moment ago", c.Route, nonce, seen.message.ChannelID)
			}
			c.Message = seen.message.ID
			return s.withNonce(seen.message), nil
		}
		s.nonces[nonce] = &usedNonce{m, s.Now()}
	}
	s.addBotMessage(c, ch, m)
	return s.withNonce(m), nil
}

// addBotMessage adds a message of the bot to a channel, records the change, and dispatches the
// event.
func (s *Server) addBotMessage(c *Call, ch *channel, m *Message) {
	s.appendMessage(ch, m)
	if ch.Thread != nil && ch.Thread.Archived { // a message reopens the thread
		ch.Thread.Archived = false
		s.dispatch("THREAD_UPDATE", intentGuilds, ch.Channel)
	}
	s.recordChange(c, "create", m)
	s.dispatchMessage("MESSAGE_CREATE", m)
}

// appendMessage appends a message to a channel, which keeps the order of the IDs.
func (s *Server) appendMessage(ch *channel, m *Message) {
	m.ID, m.ChannelID = cmp.Or(m.ID, s.newID()), ch.ID
	m.Timestamp = s.Now().UTC()
	if m.Flags&FlagLoading == 0 {
		s.show(ch, m)
	}
	m.Mentions, m.MentionRoles = append([]User{}, m.Mentions...), append([]string{}, m.MentionRoles...)
	m.Attachments = append([]Attachment{}, m.Attachments...)
	m.Embeds, m.Components = append([]Embed{}, m.Embeds...), append([]Component{}, m.Components...)
	ch.messages = append(ch.messages, m)
	if ch.byID == nil {
		ch.byID = map[string]*Message{}
	}
	ch.byID[m.ID] = m
	ch.LastID = m.ID
}

// show records that a message is shown with its content, and whom it notifies.
func (s *Server) show(ch *channel, m *Message) {
	m.VisibleAt = time.Now()
	if m.Flags&(FlagSilent|FlagEphemeral) != 0 {
		return
	}
	for _, u := range append(slices.Clone(m.Mentions), ch.Recipients...) {
		if u.ID != m.Author.ID && !slices.Contains(m.Notified, u.ID) {
			m.Notified = append(m.Notified, u.ID)
		}
	}
}

// recordChange records a change of a message by the bot.
func (s *Server) recordChange(c *Call, kind string, m *Message) {
	c.Message = m.ID
	s.changes = append(s.changes, Change{
		Kind: kind, Channel: m.ChannelID, Message: *m, Nonce: m.Nonce, Call: c.ID, At: time.Now(),
	})
}

// messageOf returns the message of a call if the bot has access to its channel.
func (s *Server) messageOf(c *Call) (*Message, error) {
	ch, err := s.visibleChannel(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	if m := ch.find(c.Args["message_id"]); m != nil && m.Flags&FlagEphemeral == 0 {
		return m, nil
	}
	return nil, unknownMessage
}

// find returns a message that is not deleted, or nil.
func (ch *channel) find(id string) *Message {
	if m := ch.byID[id]; m != nil && !m.Deleted {
		return m
	}
	return nil
}

func (s *Server) getMessage(c *Call) (any, error) {
	m, err := s.messageOf(c)
	if err != nil {
		return nil, err
	}
	return s.restView(m), nil
}

func (s *Server) editMessage(c *Call) (any, error) {
	m, err := s.messageOf(c)
	if err != nil {
		return nil, err
	}
	if m.Author.ID != s.Bot.ID {
		return nil, expectedError(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	}
	return s.applyEdit(c, m)
}

// applyEdit edits a message of the bot.
func (s *Server) applyEdit(c *Call, m *Message) (any, error) {
	d, err := decodeBody[draft](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	if d.flags()&^editFlags != 0 {
		return nil, fieldError("flags", "BASE_TYPE_CHOICES", "flags %d cannot be set by an edit", d.flags())
	}
	edited := *m
	edited.Flags &^= FlagLoading
	if err := s.applyDraft(c, s.channels[m.ChannelID], "", d, &edited); err != nil {
		return nil, err
	}
	edited.Edits, edited.Edited = m.Edits+1, new(s.Now().UTC())
	if m.Flags&FlagLoading != 0 {
		s.show(s.channels[m.ChannelID], &edited)
	}
	*m = edited
	s.recordChange(c, "edit", m)
	s.dispatchMessage("MESSAGE_UPDATE", m)
	return s.restView(m), nil
}

func (s *Server) deleteMessage(c *Call) (any, error) {
	m, err := s.messageOf(c)
	if err != nil {
		return nil, err
	}
	if m.Author.ID != s.Bot.ID {
		return nil, expectedError(http.StatusForbidden, 50013, "Missing Permissions")
	}
	s.removeMessage(c, m)
	return nil, nil
}

// removeMessage deletes a message of the bot.
func (s *Server) removeMessage(c *Call, m *Message) {
	m.Deleted = true
	s.recordChange(c, "delete", m)
	s.dispatchDelete(m)
}
