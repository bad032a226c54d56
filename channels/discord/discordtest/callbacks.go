package discordtest

import (
	"encoding/json"
	"net/http"
)

// The types of responses to an interaction that the server supports.
const (
	AnswerMessage   = 4
	DeferredMessage = 5
	DeferredUpdate  = 6
	UpdateMessage   = 7
)

var unknownInteraction = expectedError(http.StatusNotFound, 10062, "Unknown interaction")

// callback handles the first response to an interaction.
func (s *Server) callback(c *Call) (any, error) {
	i := s.interactions[c.Args["interaction_token"]]
	switch {
	case i == nil || i.ID != c.Args["interaction_id"]:
		return nil, unknownInteraction
	case i.Type != 0:
		return nil, expectedError(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	case s.ClockOffset()-i.offset >= answerDeadline:
		return nil, unknownInteraction
	}
	in, err := decodeBody[struct {
		Type int             `json:"type"`
		Data json.RawMessage `json:"data"`
	}](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	d, err := s.decodeAnswer(c, in.Data)
	if err != nil {
		return nil, err
	}
	if err := s.applyAnswer(c, i, in.Type, d); err != nil {
		return nil, err
	}
	i.Type, i.ResponseTime = in.Type, s.Now().Sub(i.createdAt)
	if c.Query.Get("with_response") != "true" {
		return nil, nil
	}
	return s.callbackResponse(i), nil
}

func (s *Server) decodeAnswer(c *Call, data json.RawMessage) (draft, error) {
	var fields map[string]rawField
	_ = json.Unmarshal(data, &fields)
	s.checkFields(c.Route+", data", fields, draftFields+" tts")
	d, err := decodeBody[draft](s, c.Route, data)
	if err == nil && d.flags()&^answerFlags != 0 {
		err = fieldError("data.flags", "BASE_TYPE_CHOICES", "flags %d cannot be set here", d.flags())
	}
	return d, err
}

// applyAnswer carries out the first response to an interaction.
func (s *Server) applyAnswer(c *Call, i *interaction, kind int, d draft) error {
	ch := s.channels[i.ChannelID]
	switch {
	case ch == nil:
		return unknownInteraction
	case kind == AnswerMessage:
		m := s.newReply(c, i)
		if err := s.applyDraft(c, ch, "data.", d, m); err != nil {
			return err
		}
		m.limitTo(i.UserID)
		s.addBotMessage(c, ch, m)
		i.MessageID = m.ID
	case kind == DeferredMessage:
		m := s.newReply(c, i)
		m.Flags |= d.flags() | FlagLoading
		m.limitTo(i.UserID)
		s.addBotMessage(c, ch, m)
		i.MessageID, i.loading = m.ID, true
	case kind == DeferredUpdate && i.message != nil:
		i.MessageID = i.message.ID
	case kind == UpdateMessage && i.message != nil:
		edited := *i.message
		if err := s.applyDraft(c, ch, "data.", d, &edited); err != nil {
			return err
		}
		edited.Edits, edited.Edited = edited.Edits+1, new(s.Now().UTC())
		*i.message = edited
		s.recordChange(c, "edit", i.message)
		s.dispatchMessage("MESSAGE_UPDATE", i.message)
		i.MessageID = i.message.ID
	default:
		return fieldError("type", "BASE_TYPE_CHOICES", "%d does not answer this, or is unknown to discordtest", kind)
	}
	return nil
}

// newReply returns an empty message of the bot that responds to an interaction.
func (s *Server) newReply(c *Call, i *interaction) *Message {
	m := &Message{ID: s.newID(), Author: s.Bot, ApplicationID: s.ApplicationID, WebhookID: s.ApplicationID, Call: c.ID}
	if i.kind == slashCommand {
		m.Type = TypeSlash
	}
	return m
}

// limitTo records who sees an ephemeral message.
func (m *Message) limitTo(user string) {
	if m.Flags&FlagEphemeral != 0 {
		m.VisibleTo = user
	}
}

// callbackResponse returns the body that a callback with with_response is answered with.
func (s *Server) callbackResponse(i *interaction) any {
	out := map[string]any{"id": i.ID, "type": i.kind, "response_message_id": i.MessageID}
	resource := map[string]any{"type": i.Type}
	if _, m := s.findMessage(i.MessageID); m != nil {
		out["response_message_loading"], out["response_message_ephemeral"] = i.loading, m.Flags&FlagEphemeral != 0
		resource["message"] = s.restView(m)
	}
	return map[string]any{"interaction": out, "resource": resource}
}
