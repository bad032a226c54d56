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

// target finds the chat of a call, if the bot may write there.
func (s *Server) target(c *Call) (*chat, error) {
	to := s.lookup(c.Params["chat_id"])
	switch {
	case to == nil:
		return nil, refuse("chat not found")
	case to.migrated != 0:
		return nil, &refusal{
			status: http.StatusBadRequest, migrateTo: to.migrated,
			text: "Bad Request: group chat was upgraded to a supergroup chat",
		}
	case to.banned != "":
		return nil, &refusal{status: http.StatusForbidden, text: to.banned}
	}
	if thread := int(c.IntParam("message_thread_id")); thread != 0 && !to.topics[thread] {
		return nil, refuse("message thread not found")
	}
	return to, nil
}

// lookup finds a chat by id or by @username.
func (s *Server) lookup(id string) *chat {
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

// outline makes the message of a call, without its content: where it goes, what it replies to, its
// buttons.
func (s *Server) outline(c *Call, to *chat) (*Message, error) {
	m := &Message{From: &s.Bot, Chat: to.Chat, Silent: c.flag("disable_notification"), Call: c.ID}
	if to.Type == "channel" {
		m.From, m.SenderChat = nil, &to.Chat
	}
	var err error
	if m.ReplyMarkup, err = keyboard(c); err != nil {
		return nil, err
	}
	reply, err := s.replied(c, to)
	if err != nil {
		return nil, err
	}
	s.thread(to, m, int(c.IntParam("message_thread_id")), reply)
	return m, nil
}

// replied finds the message that a call replies to. One in another topic counts as missing.
func (s *Server) replied(c *Call, to *chat) (*Message, error) {
	if !c.has("reply_parameters") {
		return nil, nil
	}
	var p replyParameters
	if err := strict("ReplyParameters", c.Params["reply_parameters"], &p); err != nil {
		return nil, err
	}
	m := to.find(p.MessageID)
	topic := int(c.IntParam("message_thread_id"))
	switch {
	case m != nil && topic != 0 && m.Thread != topic:
		return nil, refuse("message to be replied not found")
	case m == nil && !p.AnyWay:
		return nil, refuse("message to be replied not found")
	case m != nil && p.Quote != "" && !strings.Contains(m.TextOrCaption(), p.Quote):
		return nil, refuse("QUOTE_TEXT_INVALID")
	}
	return m, nil
}

func (s *Server) sendMessage(c *Call) (any, error) {
	text, entities, err := c.text().formatted()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, forbid("message text is empty")
	}
	to, m, err := s.prepare(c)
	if err != nil {
		return nil, err
	}
	m.Text, m.Entities = text, entities
	if m.NoPreview, err = noPreview(c); err != nil {
		return nil, err
	}
	return s.publish(c, to, m)
}

// prepare is target and outline.
func (s *Server) prepare(c *Call) (*chat, *Message, error) {
	to, err := s.target(c)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.outline(c, to)
	return to, m, err
}

func noPreview(c *Call) (bool, error) {
	if !c.has("link_preview_options") {
		return false, nil
	}
	var p linkPreview
	err := strict("LinkPreviewOptions", c.Params["link_preview_options"], &p)
	return p.IsDisabled, err
}

// publish shows a message, if the pace allows it.
func (s *Server) publish(c *Call, to *chat, m *Message) (any, error) {
	if err := s.pace(to, 1); err != nil {
		return nil, err
	}
	s.add(to, m)
	c.Messages = append(c.Messages, m.ID)
	return *m, nil
}

var chatActions = []string{
	"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
	"choose_sticker", "find_location", "record_video_note", "upload_video_note",
}

func (s *Server) sendChatAction(c *Call) (any, error) {
	if !slices.Contains(chatActions, c.Params["action"]) {
		return nil, forbid("wrong parameter action in request")
	}
	_, err := s.target(c)
	return err == nil, err
}
