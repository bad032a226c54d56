package discordtest

import (
	"cmp"
	"net/http"
	"time"
)

// speak returns a channel in which the bot may say something.
func (s *Server) speak(id string) (*channel, error) {
	c, err := s.reach(id)
	switch {
	case err != nil:
		return nil, err
	case c.Type == ForumChannel:
		return nil, forbid(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	case c.Type == DMChannel && s.denied[c.Recipients[0].ID]:
		return nil, refuse(http.StatusForbidden, 50007, "Cannot send messages to this user")
	}
	return c, nil
}

// nonceLife is how long Discord remembers a nonce: "the past few minutes".
const nonceLife = 5 * time.Minute

// used is a nonce that was sent with enforce_nonce.
type used struct {
	message *Message
	at      time.Time
}

func (s *Server) createMessage(c *Call) (any, error) {
	ch, err := s.speak(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	d, err := decode[draft](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	nonce, err := d.nonce()
	if err != nil {
		return nil, err
	}
	if d.flags()&^createFlags != 0 {
		return nil, malformed("flags", "BASE_TYPE_CHOICES", "flags %d cannot be set here", d.flags())
	}
	m := &Message{ID: s.id(), Author: s.Bot, Nonce: nonce, TTS: d.TTS, Call: c.ID}
	if err := s.compose(c, ch, "", d, m); err != nil {
		return nil, err
	}
	if nonce != "" && d.Enforce {
		if seen := s.nonces[nonce]; seen != nil && s.now().Sub(seen.at) < nonceLife {
			if seen.message.ChannelID != ch.ID {
				s.violate("%s: the nonce %q was used in the channel %s a moment ago", c.Route, nonce, seen.message.ChannelID)
			}
			c.Message = seen.message.ID
			return s.withNonce(seen.message), nil
		}
		s.nonces[nonce] = &used{m, s.now()}
	}
	s.post(c, ch, m)
	return s.withNonce(m), nil
}

// post puts a message of the bot into a channel, records it and tells of it.
func (s *Server) post(c *Call, ch *channel, m *Message) {
	s.add(ch, m)
	s.record(c, "create", m)
	s.announce("MESSAGE_CREATE", m)
}

// add puts a message into a channel, in the order of the ids.
func (s *Server) add(ch *channel, m *Message) {
	m.ID, m.ChannelID = cmp.Or(m.ID, s.id()), ch.ID
	m.Timestamp = s.now().UTC()
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

// record notes what the bot did to what a channel shows.
func (s *Server) record(c *Call, kind string, m *Message) {
	c.Message = m.ID
	s.changes = append(s.changes, Change{
		Kind: kind, Channel: m.ChannelID, Message: *m, Nonce: m.Nonce, Call: c.ID, At: time.Now(),
	})
}

// message returns a message that the bot can see by its channel.
func (s *Server) message(c *Call) (*Message, error) {
	ch, err := s.reach(c.Args["channel_id"])
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
	m, err := s.message(c)
	if err != nil {
		return nil, err
	}
	return s.view(m), nil
}

func (s *Server) editMessage(c *Call) (any, error) {
	m, err := s.message(c)
	if err != nil {
		return nil, err
	}
	if m.Author.ID != s.Bot.ID {
		return nil, refuse(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	}
	return s.change(c, m)
}

// change edits a message of the bot's.
func (s *Server) change(c *Call, m *Message) (any, error) {
	d, err := decode[draft](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	edited := *m
	edited.Flags &^= FlagLoading
	if err := s.compose(c, s.channels[m.ChannelID], "", d, &edited); err != nil {
		return nil, err
	}
	edited.Edits, edited.Edited = m.Edits+1, new(s.now().UTC())
	*m = edited
	s.record(c, "edit", m)
	s.announce("MESSAGE_UPDATE", m)
	return s.view(m), nil
}

func (s *Server) deleteMessage(c *Call) (any, error) {
	m, err := s.message(c)
	if err != nil {
		return nil, err
	}
	if m.Author.ID != s.Bot.ID {
		return nil, refuse(http.StatusForbidden, 50013, "Missing Permissions")
	}
	s.remove(c, m)
	return nil, nil
}

// remove deletes a message of the bot's.
func (s *Server) remove(c *Call, m *Message) {
	m.Deleted = true
	s.record(c, "delete", m)
	s.announceGone(m)
}
