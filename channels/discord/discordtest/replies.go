package discordtest

import (
	"encoding/json"
	"net/http"
)

// The ways to answer an interaction that the server knows.
const (
	AnswerMessage   = 4
	DeferredMessage = 5
	DeferredUpdate  = 6
	UpdateMessage   = 7
)

var unknownInteraction = refuse(http.StatusNotFound, 10062, "Unknown interaction")

// callback is the first answer to an interaction.
func (s *Server) callback(c *Call) (any, error) {
	i := s.actions[c.Args["interaction_token"]]
	switch {
	case i == nil || i.ID != c.Args["interaction_id"]:
		return nil, unknownInteraction
	case i.Type != 0:
		return nil, refuse(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	case s.now().Sub(i.made) > answerTime:
		return nil, unknownInteraction
	}
	in, err := decode[struct {
		Type int             `json:"type"`
		Data json.RawMessage `json:"data"`
	}](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	d, err := s.answerData(c, in.Data)
	if err != nil {
		return nil, err
	}
	if err := s.answer(c, i, in.Type, d); err != nil {
		return nil, err
	}
	i.Type, i.ResponseTime = in.Type, s.now().Sub(i.made)
	if c.Query.Get("with_response") != "true" {
		return nil, nil
	}
	return s.answered(i), nil
}

func (s *Server) answerData(c *Call, data json.RawMessage) (draft, error) {
	var fields map[string]rawField
	_ = json.Unmarshal(data, &fields)
	s.checkFields(c.Route+", data", fields, draftFields+" tts")
	d, err := decode[draft](s, c.Route, data)
	if err == nil && d.flags()&^answerFlags != 0 {
		err = malformed("data.flags", "BASE_TYPE_CHOICES", "flags %d cannot be set here", d.flags())
	}
	return d, err
}

// answer does what the first answer says.
func (s *Server) answer(c *Call, i *interaction, kind int, d draft) error {
	ch := s.channels[i.ChannelID]
	switch {
	case ch == nil:
		return unknownInteraction
	case kind == AnswerMessage:
		m := s.replyTo(c, i)
		if err := s.compose(c, ch, "data.", d, m); err != nil {
			return err
		}
		s.post(c, ch, m)
		i.MessageID = m.ID
	case kind == DeferredMessage:
		m := s.replyTo(c, i)
		m.Flags |= d.flags() | FlagLoading
		s.post(c, ch, m)
		i.MessageID, i.loading = m.ID, true
	case kind == DeferredUpdate && i.on != nil:
		i.MessageID = i.on.ID
	case kind == UpdateMessage && i.on != nil:
		edited := *i.on
		if err := s.compose(c, ch, "data.", d, &edited); err != nil {
			return err
		}
		edited.Edits, edited.Edited = edited.Edits+1, new(s.now().UTC())
		*i.on = edited
		s.record(c, "edit", i.on)
		s.announce("MESSAGE_UPDATE", i.on)
		i.MessageID = i.on.ID
	default:
		return malformed("type", "BASE_TYPE_CHOICES", "%d does not answer this, or is unknown to discordtest", kind)
	}
	return nil
}

// replyTo makes an empty message of the bot in answer to an interaction.
func (s *Server) replyTo(c *Call, i *interaction) *Message {
	m := &Message{ID: s.id(), Author: s.Bot, ApplicationID: s.ApplicationID, WebhookID: s.ApplicationID, Call: c.ID}
	if i.kind == slashCommand {
		m.Type = TypeSlash
	}
	return m
}

// answered tells what became of an answer.
func (s *Server) answered(i *interaction) any {
	out := map[string]any{"id": i.ID, "type": i.kind, "response_message_id": i.MessageID}
	resource := map[string]any{"type": i.Type}
	if _, m := s.findAnywhere(i.MessageID); m != nil {
		out["response_message_loading"], out["response_message_ephemeral"] = i.loading, m.Flags&FlagEphemeral != 0
		resource["message"] = s.view(m)
	}
	return map[string]any{"interaction": out, "resource": resource}
}
