package telegramtest

import "time"

// draftLifetime is how long a chat shows a draft.
const draftLifetime = 30 * time.Second

// Draft is the draft that a private chat shows.
type Draft struct {
	ID       int64
	Text     string // what people see
	Entities []Entity
	Rich     string // the HTML of a rich draft
	At       time.Time
}

// Draft returns the draft that a chat shows, if there is one: until 30 seconds after the last call,
// or until the bot's next message.
func (s *Server) Draft(chat int64) (Draft, bool) {
	s.Lock()
	defer s.Unlock()
	d := s.chatByID(chat).draft
	if d == nil || time.Since(d.At) >= draftLifetime {
		return Draft{}, false
	}
	return *d, true
}

func (s *Server) sendMessageDraft(c *Call) (any, error) {
	text, entities, err := c.textParam().render()
	if err != nil {
		return nil, err
	}
	return s.showDraft(c, Draft{Text: text, Entities: entities})
}

func (s *Server) sendRichMessageDraft(c *Call) (any, error) {
	rich, err := c.richParam()
	if err != nil {
		return nil, err
	}
	return s.showDraft(c, Draft{Text: rich.text, Rich: rich.html})
}

// showDraft shows a draft in a private chat. Drafts count towards the limit of the chat.
func (s *Server) showDraft(c *Call, d Draft) (any, error) {
	to, err := s.writableChat(c)
	if err != nil {
		return nil, err
	}
	if d.ID = c.IntParam("draft_id"); d.ID == 0 {
		return nil, violationError("draft identifier must be non-zero")
	}
	if to.Type != "private" {
		return nil, violationError("drafts can be sent to private chats only")
	}
	if err := s.countAgainstFlood(to, 1); err != nil {
		return nil, err
	}
	d.At = time.Now()
	to.draft = &d
	return true, nil
}
