package telegramtest

import (
	"encoding/json"
	"reflect"
	"time"
)

const notModified = "message is not modified: specified new message content and reply markup are exactly the same as a " +
	"current content and reply markup of the message"

// findEditable returns the message of an edit.
func (s *Server) findEditable(c *Call) (*chat, *Message, error) {
	if !c.has("chat_id") {
		return nil, nil, violationError("chat_id is empty")
	}
	if !c.has("message_id") {
		return nil, nil, violationError("message identifier is not specified")
	}
	to, err := s.writableChat(c)
	if err != nil {
		return nil, nil, err
	}
	m := to.find(int(c.IntParam("message_id")))
	if m == nil {
		return nil, nil, expectedError("message to edit not found")
	}
	if m.Call == 0 {
		return nil, nil, expectedError("message can't be edited")
	}
	return to, m, nil
}

// applyEdit replaces a message, unless nothing changes. An edit without reply_markup removes the
// buttons.
func (s *Server) applyEdit(c *Call, to *chat, m *Message, next Message) (any, error) {
	var err error
	if next.ReplyMarkup, err = parseKeyboard(c); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(*m, next) {
		return nil, expectedError("%s", notModified)
	}
	if err := s.countAgainstFlood(to, 1); err != nil {
		return nil, err
	}
	next.Edits++
	next.ShownAt = time.Now()
	next.EditDate = next.ShownAt.Unix()
	*m = next
	c.Shown = append(c.Shown, next)
	return next, nil
}

func (s *Server) editText(c *Call) (any, error) {
	if c.has("rich_message") {
		return s.editRich(c)
	}
	text, entities, err := c.textParam().render()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, violationError("message text is empty")
	}
	to, m, err := s.findEditable(c)
	if err != nil {
		return nil, err
	}
	if m.Text == "" && m.Rich == "" {
		return nil, expectedError("there is no text in the message to edit")
	}
	next := *m
	next.Text, next.Entities, next.Rich, next.RichText = text, entities, "", ""
	if next.NoPreview, err = previewDisabled(c); err != nil {
		return nil, err
	}
	return s.applyEdit(c, to, m, next)
}

// editRich turns a message with text into a rich message, or changes a rich message.
func (s *Server) editRich(c *Call) (any, error) {
	if c.has("text") || c.has("entities") {
		return nil, violationError("text and rich_message exclude each other")
	}
	rich, err := c.richParam()
	if err != nil {
		return nil, err
	}
	to, m, err := s.findEditable(c)
	if err != nil {
		return nil, err
	}
	if m.Text == "" && m.Rich == "" {
		return nil, expectedError("there is no text in the message to edit")
	}
	next := *m
	next.Text, next.Entities, next.Rich, next.RichText = "", nil, rich.html, rich.text
	return s.applyEdit(c, to, m, next)
}

func (s *Server) editCaption(c *Call) (any, error) {
	caption, entities, err := c.captionParam().render()
	if err != nil {
		return nil, err
	}
	to, m, err := s.findEditable(c)
	if err != nil {
		return nil, err
	}
	if m.File() == nil {
		return nil, expectedError("there is no caption in the message to edit")
	}
	next := *m
	next.Caption, next.CaptionEntities = caption, entities
	return s.applyEdit(c, to, m, next)
}

func (s *Server) editMarkup(c *Call) (any, error) {
	to, m, err := s.findEditable(c)
	if err != nil {
		return nil, err
	}
	return s.applyEdit(c, to, m, *m)
}

// deleteMessage deletes a message of the bot, or any message of a private chat.
func (s *Server) deleteMessage(c *Call) (any, error) {
	to, err := s.writableChat(c)
	if err != nil {
		return nil, err
	}
	m := to.find(int(c.IntParam("message_id")))
	if m == nil {
		return nil, expectedError("message to delete not found")
	}
	if m.Call == 0 && to.Type != "private" {
		return nil, expectedError("message can't be deleted")
	}
	m.deleted = true
	return true, nil
}

// deleteMessages deletes up to 100 messages. Those that are gone are skipped.
func (s *Server) deleteMessages(c *Call) (any, error) {
	to, err := s.writableChat(c)
	if err != nil {
		return nil, err
	}
	var ids []int
	if err := json.Unmarshal([]byte(c.Params["message_ids"]), &ids); err != nil || len(ids) == 0 || len(ids) > 100 {
		return nil, violationError("message identifiers are not specified, or more than 100")
	}
	for _, id := range ids {
		if m := to.find(id); m != nil && m.Call == 0 && to.Type != "private" {
			return nil, expectedError("message can't be deleted")
		}
	}
	for _, id := range ids {
		if m := to.find(id); m != nil {
			m.deleted = true
		}
	}
	return true, nil
}
