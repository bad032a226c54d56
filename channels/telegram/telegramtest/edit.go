package telegramtest

import (
	"reflect"
	"time"
)

const unchanged = "message is not modified: specified new message content and reply markup are exactly the same as a " +
	"current content and reply markup of the message"

// editable finds the message an edit is about.
func (s *Server) editable(c *Call) (*chat, *Message, error) {
	if !c.has("chat_id") {
		return nil, nil, forbid("chat_id is empty")
	}
	if !c.has("message_id") {
		return nil, nil, forbid("message identifier is not specified")
	}
	to, err := s.target(c)
	if err != nil {
		return nil, nil, err
	}
	m := to.find(int(c.IntParam("message_id")))
	if m == nil {
		return nil, nil, refuse("message to edit not found")
	}
	if m.Call == 0 {
		return nil, nil, refuse("message can't be edited")
	}
	return to, m, nil
}

// apply replaces a message with its edited form, unless that is what it is already. An edit without
// reply_markup takes the buttons away.
func (s *Server) apply(c *Call, to *chat, m *Message, next Message) (any, error) {
	var err error
	if next.ReplyMarkup, err = keyboard(c); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(*m, next) {
		return nil, refuse("%s", unchanged)
	}
	if err := s.pace(to, 1); err != nil {
		return nil, err
	}
	next.Edits++
	next.EditDate = time.Now().Unix()
	*m = next
	return next, nil
}

func (s *Server) editText(c *Call) (any, error) {
	text, entities, err := c.text().formatted()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, forbid("message text is empty")
	}
	to, m, err := s.editable(c)
	if err != nil {
		return nil, err
	}
	if m.Text == "" {
		return nil, refuse("there is no text in the message to edit")
	}
	next := *m
	next.Text, next.Entities = text, entities
	if next.NoPreview, err = noPreview(c); err != nil {
		return nil, err
	}
	return s.apply(c, to, m, next)
}

func (s *Server) editCaption(c *Call) (any, error) {
	caption, entities, err := c.caption().formatted()
	if err != nil {
		return nil, err
	}
	to, m, err := s.editable(c)
	if err != nil {
		return nil, err
	}
	if m.File() == nil {
		return nil, refuse("there is no caption in the message to edit")
	}
	next := *m
	next.Caption, next.CaptionEntities = caption, entities
	return s.apply(c, to, m, next)
}

func (s *Server) editMarkup(c *Call) (any, error) {
	to, m, err := s.editable(c)
	if err != nil {
		return nil, err
	}
	return s.apply(c, to, m, *m)
}

// deleteMessage deletes what the bot has sent, or in a private chat anything.
func (s *Server) deleteMessage(c *Call) (any, error) {
	to, err := s.target(c)
	if err != nil {
		return nil, err
	}
	m := to.find(int(c.IntParam("message_id")))
	if m == nil {
		return nil, refuse("message to delete not found")
	}
	if m.Call == 0 && to.Type != "private" {
		return nil, refuse("message can't be deleted")
	}
	m.deleted = true
	return true, nil
}
