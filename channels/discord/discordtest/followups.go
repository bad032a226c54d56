package discordtest

import (
	"net/http"
	"slices"
)

// webhook finds the interaction whose token a call uses in place of the bot's.
func (s *Server) webhook(c *Call) (*interaction, error) {
	i := s.actions[c.Args["webhook_token"]]
	switch {
	case c.Args["webhook_id"] != s.ApplicationID || i == nil || i.Type == 0:
		return nil, refuse(http.StatusNotFound, 10015, "Unknown Webhook")
	case s.now().Sub(i.made) > tokenLife:
		return nil, refuse(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	}
	return i, nil
}

// followup says more in answer to an interaction. The first after DeferredMessage fills the message
// that was promised.
func (s *Server) followup(c *Call) (any, error) {
	i, err := s.webhook(c)
	if err != nil {
		return nil, err
	}
	if i.loading {
		return s.fill(c, i)
	}
	ch, err := s.speak(i.ChannelID)
	if err != nil {
		return nil, err
	}
	d, err := decode[draft](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	if d.flags()&^answerFlags != 0 {
		return nil, malformed("flags", "BASE_TYPE_CHOICES", "flags %d cannot be set here", d.flags())
	}
	m := s.replyTo(c, i)
	m.Type, m.TTS = TypeDefault, d.TTS
	if err := s.compose(c, ch, "", d, m); err != nil {
		return nil, err
	}
	s.post(c, ch, m)
	i.Followups = append(i.Followups, m.ID)
	return s.view(m), nil
}

// fill turns the promise of a message into the message.
func (s *Server) fill(c *Call, i *interaction) (any, error) {
	_, m := s.findAnywhere(i.MessageID)
	if m == nil {
		return nil, unknownMessage
	}
	result, err := s.change(c, m)
	if err == nil {
		i.loading = false
	}
	return result, err
}

// reply finds @original or a followup.
func (s *Server) reply(c *Call) (*interaction, *Message, error) {
	i, err := s.webhook(c)
	if err != nil {
		return nil, nil, err
	}
	id, named := c.Args["message_id"]
	if !named {
		id = i.MessageID
	} else if id != i.MessageID && !slices.Contains(i.Followups, id) {
		return nil, nil, unknownMessage
	}
	_, m := s.findAnywhere(id)
	if m == nil {
		return nil, nil, unknownMessage
	}
	return i, m, nil
}

func (s *Server) getReply(c *Call) (any, error) {
	_, m, err := s.reply(c)
	if err != nil {
		return nil, err
	}
	return s.view(m), nil
}

func (s *Server) editReply(c *Call) (any, error) {
	i, m, err := s.reply(c)
	if err != nil {
		return nil, err
	}
	if m.ID == i.MessageID {
		return s.fill(c, i)
	}
	return s.change(c, m)
}

func (s *Server) deleteReply(c *Call) (any, error) {
	_, m, err := s.reply(c)
	if err != nil {
		return nil, err
	}
	s.remove(c, m)
	return nil, nil
}
