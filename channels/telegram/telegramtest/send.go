package telegramtest

import (
	"net/http"
	"slices"
	"strings"
)

// replyParameters is a Bot API ReplyParameters.
type replyParameters struct {
	MessageID       int      `json:"message_id"`
	ChatID          any      `json:"chat_id"`
	AnyWay          bool     `json:"allow_sending_without_reply"`
	Quote           string   `json:"quote"`
	QuoteParseMode  string   `json:"quote_parse_mode"`
	QuoteEntities   []Entity `json:"quote_entities"`
	QuotePosition   int      `json:"quote_position"`
	ChecklistTaskID int      `json:"checklist_task_id"`
	PollOptionID    string   `json:"poll_option_id"`
}

// linkPreview is a Bot API LinkPreviewOptions.
type linkPreview struct {
	IsDisabled bool   `json:"is_disabled"`
	URL        string `json:"url"`
	Small      bool   `json:"prefer_small_media"`
	Large      bool   `json:"prefer_large_media"`
	Above      bool   `json:"show_above_text"`
}

// writableChat returns the chat of a call if the bot may send messages to it.
func (s *Server) writableChat(c *Call) (*chat, error) {
	to := s.findChat(c.Params["chat_id"])
	switch {
	case to == nil:
		return nil, expectedError("chat not found")
	case to.migrated != 0:
		return nil, &apiError{
			status: http.StatusBadRequest, migrateTo: to.migrated,
			text: "Bad Request: group chat was upgraded to a supergroup chat",
		}
	case to.forbidden != "":
		return nil, &apiError{status: http.StatusForbidden, text: to.forbidden}
	}
	if thread := int(c.IntParam("message_thread_id")); thread != 0 && !to.topics[thread] {
		return nil, expectedError("message thread not found")
	} else if to.closed[thread] {
		return nil, expectedError("TOPIC_CLOSED")
	}
	return to, nil
}

// findChat returns a chat by its ID or @username.
func (s *Server) findChat(id string) *chat {
	if name, ok := strings.CutPrefix(id, "@"); ok {
		for _, c := range s.chats {
			if strings.EqualFold(c.Username, name) && c.Type != "private" {
				return c
			}
		}
		return nil
	}
	return s.chats[Call{Params: map[string]string{"id": id}}.IntParam("id")]
}

// newBotMessage returns the message of a call without its content: with the chat, the message that
// it replies to, and the buttons.
func (s *Server) newBotMessage(c *Call, to *chat) (*Message, error) {
	m := &Message{From: &s.Bot, Chat: to.Chat, Silent: c.flag("disable_notification"), Call: c.ID}
	if to.Type == "channel" {
		m.From, m.SenderChat = nil, &to.Chat
	}
	var err error
	if m.ReplyMarkup, err = parseKeyboard(c); err != nil {
		return nil, err
	}
	reply, err := s.findReplied(c, to)
	if err != nil {
		return nil, err
	}
	s.setThread(to, m, int(c.IntParam("message_thread_id")), reply)
	return m, nil
}

// findReplied returns the message that a call replies to. A message in another topic counts as
// missing.
func (s *Server) findReplied(c *Call, to *chat) (*Message, error) {
	if !c.has("reply_parameters") {
		return nil, nil
	}
	var p replyParameters
	if err := decodeStrict("ReplyParameters", c.Params["reply_parameters"], &p); err != nil {
		return nil, err
	}
	m := to.find(p.MessageID)
	topic := int(c.IntParam("message_thread_id"))
	switch {
	case m != nil && topic != 0 && m.Thread != topic:
		return nil, expectedError("message to be replied not found")
	case m == nil && !p.AnyWay:
		return nil, expectedError("message to be replied not found")
	case m != nil && p.Quote != "" && !strings.Contains(m.TextOrCaption(), p.Quote):
		return nil, expectedError("QUOTE_TEXT_INVALID")
	}
	return m, nil
}

func (s *Server) sendMessage(c *Call) (any, error) {
	text, entities, err := c.textParam().render()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, violationError("message text is empty")
	}
	to, m, err := s.prepareMessage(c)
	if err != nil {
		return nil, err
	}
	m.Text, m.Entities = text, entities
	if m.NoPreview, err = previewDisabled(c); err != nil {
		return nil, err
	}
	return s.addBotMessage(c, to, m)
}

// prepareMessage combines writableChat and newBotMessage.
func (s *Server) prepareMessage(c *Call) (*chat, *Message, error) {
	to, err := s.writableChat(c)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.newBotMessage(c, to)
	return to, m, err
}

func previewDisabled(c *Call) (bool, error) {
	if !c.has("link_preview_options") {
		return false, nil
	}
	var p linkPreview
	err := decodeStrict("LinkPreviewOptions", c.Params["link_preview_options"], &p)
	return p.IsDisabled, err
}

// addBotMessage adds a message to its chat, if flood control allows it.
func (s *Server) addBotMessage(c *Call, to *chat, m *Message) (any, error) {
	if err := s.countAgainstFlood(to, 1); err != nil {
		return nil, err
	}
	s.appendMessage(to, m)
	to.draft = nil
	c.Messages, c.Shown = append(c.Messages, m.ID), append(c.Shown, *m)
	return *m, nil
}

var chatActions = []string{
	"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
	"choose_sticker", "find_location", "record_video_note", "upload_video_note",
}

func (s *Server) sendChatAction(c *Call) (any, error) {
	if !slices.Contains(chatActions, c.Params["action"]) {
		return nil, violationError("wrong parameter action in request")
	}
	_, err := s.writableChat(c)
	return err == nil, err
}
