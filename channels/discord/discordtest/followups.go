package discordtest

import (
	"net/http"
	"slices"
)

// interactionByToken returns the interaction whose token a call uses instead of the bot's.
func (s *Server) interactionByToken(c *Call) (*interaction, error) {
	i := s.interactions[c.Args["webhook_token"]]
	switch {
	case c.Args["webhook_id"] != s.ApplicationID || i == nil || i.Type == 0:
		return nil, expectedError(http.StatusNotFound, 10015, "Unknown Webhook")
	case s.Now().Sub(i.createdAt) > tokenLifetime:
		return nil, expectedError(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	}
	return i, nil
}

// followup sends another message in response to an interaction. The first one after DeferredMessage
// fills the deferred message.
func (s *Server) followup(c *Call) (any, error) {
	i, err := s.interactionByToken(c)
	if err != nil {
		return nil, err
	}
	if i.loading {
		return s.fillDeferred(c, i)
	}
	ch, err := s.writableChannel(i.ChannelID)
	if err != nil {
		return nil, err
	}
	d, err := decodeBody[draft](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	if d.flags()&^answerFlags != 0 {
		return nil, fieldError("flags", "BASE_TYPE_CHOICES", "flags %d cannot be set here", d.flags())
	}
	m := s.newReply(c, i)
	m.Type, m.TTS = TypeDefault, d.TTS
	if err := s.applyDraft(c, ch, "", d, m); err != nil {
		return nil, err
	}
	m.limitTo(i.UserID)
	s.addBotMessage(c, ch, m)
	i.Followups = append(i.Followups, m.ID)
	return s.restView(m), nil
}

// fillDeferred sets the content of a deferred message.
func (s *Server) fillDeferred(c *Call, i *interaction) (any, error) {
	_, m := s.findMessage(i.MessageID)
	if m == nil {
		return nil, unknownMessage
	}
	result, err := s.applyEdit(c, m)
	if err == nil {
		i.loading = false
	}
	return result, err
}

// findReply returns the message @original or a followup.
func (s *Server) findReply(c *Call) (*interaction, *Message, error) {
	i, err := s.interactionByToken(c)
	if err != nil {
		return nil, nil, err
	}
	id, named := c.Args["message_id"]
	if !named {
		id = i.MessageID
	} else if id != i.MessageID && !slices.Contains(i.Followups, id) {
		return nil, nil, unknownMessage
	}
	_, m := s.findMessage(id)
	if m == nil {
		return nil, nil, unknownMessage
	}
	return i, m, nil
}

func (s *Server) getReply(c *Call) (any, error) {
	_, m, err := s.findReply(c)
	if err != nil {
		return nil, err
	}
	return s.restView(m), nil
}

func (s *Server) editReply(c *Call) (any, error) {
	i, m, err := s.findReply(c)
	if err != nil {
		return nil, err
	}
	if m.ID == i.MessageID {
		return s.fillDeferred(c, i)
	}
	return s.applyEdit(c, m)
}

func (s *Server) deleteReply(c *Call) (any, error) {
	_, m, err := s.findReply(c)
	if err != nil {
		return nil, err
	}
	s.removeMessage(c, m)
	return nil, nil
}
