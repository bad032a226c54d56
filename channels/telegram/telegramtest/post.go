package telegramtest

import (
	"encoding/json"
	"strconv"
	"time"
)

// defaultSender is who writes in groups when a test does not say.
const defaultSender = 777001

// UserPost is what a person sends. In a channel it is a channel post.
type UserPost struct {
	Chat     int64
	From     int64    // 0: in a private chat its person, elsewhere one that is always the same
	Text     string   // the caption where there is a file
	Entities []Entity // nil: commands, mentions and links are found in the text
	Media    *Media
	Contact  *Contact
	Location *Location
	Topic    int // of a forum, from AddTopic
	ReplyTo  int // message id
	group    string
}

// UserSends is a person who writes. In a private chat it is the chat's person.
func (s *Server) UserSends(chat int64, text string) Message {
	return s.UserPosts(UserPost{Chat: chat, Text: text})
}

// UserPosts is a person who sends something. It returns the message as the bot will see it.
func (s *Server) UserPosts(p UserPost) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.post(p)
}

// UserSendsAlbum is a person who sends several files at once: one update each, with one media_group_id. Each
// file has its own caption; the post's text is the caption of the first.
func (s *Server) UserSendsAlbum(p UserPost, media ...Media) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.group = itoa(13_000_000_000 + int64(len(s.files)))
	var out []Message
	for i, m := range media {
		one := p
		one.Media = &m
		one.Text = m.Caption
		if i == 0 && m.Caption == "" {
			one.Text = p.Text
		}
		out = append(out, s.post(one))
	}
	return out
}

func (s *Server) post(p UserPost) Message {
	c := s.chat(p.Chat)
	m := &Message{MediaGroupID: p.group, Contact: p.Contact, Location: p.Location}
	s.signed(c, p.From, m)
	entities := p.Entities
	if entities == nil {
		entities = detect(p.Text)
	}
	if p.Media != nil {
		m.Caption, m.CaptionEntities = p.Text, entities
		s.attach(m, *p.Media)
	} else {
		m.Text, m.Entities = p.Text, entities
	}
	s.add(c, m)
	s.thread(c, m, p.Topic, c.find(p.ReplyTo))
	kind := "message"
	if c.Type == "channel" {
		kind = "channel_post"
	}
	s.offer(kind, encode(m), s.sees(c, m))
	return *m
}

// signed says who a message is from. A channel's posts have no person.
func (s *Server) signed(c *chat, from int64, m *Message) {
	switch {
	case c.Type == "channel":
		m.SenderChat = &c.Chat
	case from != 0:
		m.From = new(s.user(from))
	case c.Type == "private":
		m.From = new(s.user(c.ID))
	default:
		m.From = new(s.user(defaultSender))
	}
}

// thread places a message. Telegram has two traps here. In a topic, what replies to nothing seems
// to reply to the topic's creation; and a reply in a plain supergroup has a thread id, too, though
// there are no topics.
func (s *Server) thread(c *chat, m *Message, topic int, reply *Message) {
	m.ReplyTo = quoted(reply)
	switch {
	case topic != 0:
		m.Thread, m.IsTopicMessage = topic, true
		if m.ReplyTo == nil {
			m.ReplyTo = quoted(c.find(topic))
		}
	case reply != nil && reply.IsTopicMessage:
		m.Thread, m.IsTopicMessage = reply.Thread, true
	case reply != nil && c.Type == "supergroup" && reply.Thread != 0:
		m.Thread = reply.Thread
	case reply != nil && c.Type == "supergroup":
		m.Thread = reply.ID
	}
}

// sees says whether the bot gets to see a message in group privacy mode.
func (s *Server) sees(c *chat, m *Message) bool {
	if !s.set.privacy || c.Type == "private" || c.Type == "channel" {
		return true
	}
	if m.ReplyTo != nil && m.ReplyTo.Call > 0 {
		return true
	}
	return s.addressed(m.Text, m.Entities) || s.addressed(m.Caption, m.CaptionEntities)
}

// UserEdits is a person who changes the text or caption of what they sent. The bot gets an
// edited_message, or an edited_channel_post.
func (s *Server) UserEdits(chat int64, id int, text string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chat(chat)
	m := c.find(id)
	if m == nil {
		return Message{}
	}
	m.EditDate = time.Now().Unix()
	if m.Caption != "" || m.File() != nil {
		m.Caption, m.CaptionEntities = text, detect(text)
	} else {
		m.Text, m.Entities = text, detect(text)
	}
	kind := "edited_message"
	if c.Type == "channel" {
		kind = "edited_channel_post"
	}
	s.offer(kind, encode(m), s.sees(c, m))
	return *m
}

// UserDeletes is a person who deletes a message, their own or the bot's. Telegram does not tell the
// bot.
func (s *Server) UserDeletes(chat int64, id int) {
	s.update(func() {
		if m := s.chat(chat).find(id); m != nil {
			m.deleted = true
		}
	})
}

// UserPresses is a person who presses a button under a message; from 0 is as in Post. It returns the
// query's id, for Answered. The button need not be there any more: what people see may be old.
func (s *Server) UserPresses(chat, from int64, message int, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chat(chat)
	var signed Message
	s.signed(c, from, &signed)
	id := strconv.FormatInt(4_382_000_000_000_000_000+int64(len(s.queries)), 10)
	s.queries[id] = &Answer{}
	query := map[string]any{
		"id": id, "from": signed.From, "chat_instance": itoa(c.ID * 31), "data": data,
		// What is gone is an InaccessibleMessage, which has the date 0.
		"message": map[string]any{"chat": c.Chat, "message_id": message, "date": 0},
	}
	if m := c.find(message); m != nil {
		query["message"] = m
	}
	s.offer("callback_query", encode(query), true)
	return id
}

// InjectUpdate offers an update that a test has written itself: an object with any field but update_id,
// which is added. It returns the update's id.
func (s *Server) InjectUpdate(update string) int {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(update), &fields); err != nil {
		panic("telegramtest: Inject wants a JSON object: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fields["update_id"] = encode(s.updates.next)
	return s.enqueue(encode(fields))
}

// InjectUndecodableUpdate offers an update that is valid JSON and yet fits no type: a message that is a word.
func (s *Server) InjectUndecodableUpdate() int { return s.InjectUpdate(`{"message":"undecodable"}`) }
