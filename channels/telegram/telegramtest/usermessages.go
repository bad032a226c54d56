package telegramtest

import (
	"encoding/json"
	"strconv"
	"time"
)

// defaultSender is the user who sends messages in groups if a test names none.
const defaultSender = 777001

// UserPost is a message of a user. In a channel it is a channel post.
type UserPost struct {
	Chat     int64
	From     int64    // 0 means the user of a private chat, and defaultSender elsewhere
	Text     string   // the caption if there is a file
	Entities []Entity // if nil, commands, mentions and links are detected
	Media    *Media
	Contact  *Contact
	Location *Location
	Topic    int // of a forum, from AddTopic
	ReplyTo  int // a message ID
	group    string
}

// UserSends makes a user send a text. In a private chat it is the user of the chat.
func (s *Server) UserSends(chat int64, text string) Message {
	return s.UserPosts(UserPost{Chat: chat, Text: text})
}

// UserPosts makes a user send a message, and returns the message that the bot gets.
func (s *Server) UserPosts(p UserPost) Message {
	s.Lock()
	defer s.Unlock()
	return s.addUserMessage(p)
}

// UserSendsAlbum makes a user send several files at once: one update each, with a common
// media_group_id. Each file has its own caption; the text of the post is the caption of the first.
func (s *Server) UserSendsAlbum(p UserPost, media ...Media) []Message {
	s.Lock()
	defer s.Unlock()
	p.group = itoa(13_000_000_000 + int64(len(s.files)))
	var out []Message
	for i, m := range media {
		one := p
		one.Media = &m
		one.Text = m.Caption
		if i == 0 && m.Caption == "" {
			one.Text = p.Text
		}
		out = append(out, s.addUserMessage(one))
	}
	return out
}

func (s *Server) addUserMessage(p UserPost) Message {
	c := s.chatByID(p.Chat)
	m := &Message{MediaGroupID: p.group, Contact: p.Contact, Location: p.Location}
	s.setSender(c, p.From, m)
	entities := p.Entities
	if entities == nil {
		entities = detectEntities(p.Text)
	}
	if p.Media != nil {
		m.Caption, m.CaptionEntities = p.Text, entities
		s.attachMedia(m, *p.Media)
	} else {
		m.Text, m.Entities = p.Text, entities
	}
	s.appendMessage(c, m)
	s.setThread(c, m, p.Topic, c.find(p.ReplyTo))
	kind := "message"
	if c.Type == "channel" {
		kind = "channel_post"
	}
	s.offerUpdate(kind, encode(m), s.isVisibleToBot(c, m))
	return *m
}

// setSender sets the sender of a message. Posts of a channel have no user.
func (s *Server) setSender(c *chat, from int64, m *Message) {
	switch {
	case c.Type == "channel":
		m.SenderChat = &c.Chat
	case from != 0:
		m.From = new(s.userByID(from))
	case c.Type == "private":
		m.From = new(s.userByID(c.ID))
	default:
		m.From = new(s.userByID(defaultSender))
	}
}

// setThread sets the thread and the reply of a message, with two peculiarities of Telegram. In a
// topic, a message that replies to nothing appears to reply to the creation of the topic. A reply
// in a supergroup without topics also has a thread ID.
func (s *Server) setThread(c *chat, m *Message, topic int, reply *Message) {
	m.ReplyTo = withoutReply(reply)
	switch {
	case topic != 0:
		m.Thread, m.IsTopicMessage = topic, true
		if m.ReplyTo == nil {
			m.ReplyTo = withoutReply(c.find(topic))
		}
	case reply != nil && reply.IsTopicMessage:
		m.Thread, m.IsTopicMessage = reply.Thread, true
	case reply != nil && c.Type == "supergroup" && reply.Thread != 0:
		m.Thread = reply.Thread
	case reply != nil && c.Type == "supergroup":
		m.Thread = reply.ID
	}
}

// isVisibleToBot reports whether the bot gets a message in group privacy mode.
func (s *Server) isVisibleToBot(c *chat, m *Message) bool {
	if !s.settings.privacy || c.Type == "private" || c.Type == "channel" {
		return true
	}
	if m.ReplyTo != nil && m.ReplyTo.Call > 0 {
		return true
	}
	return s.addressesBot(m.Text, m.Entities) || s.addressesBot(m.Caption, m.CaptionEntities)
}

// UserEdits makes a user change the text or caption of a message. The bot gets an edited_message or
// an edited_channel_post.
func (s *Server) UserEdits(chat int64, id int, text string) Message {
	s.Lock()
	defer s.Unlock()
	c := s.chatByID(chat)
	m := c.find(id)
	if m == nil {
		return Message{}
	}
	m.EditDate = time.Now().Unix()
	if m.Caption != "" || m.File() != nil {
		m.Caption, m.CaptionEntities = text, detectEntities(text)
	} else {
		m.Text, m.Entities = text, detectEntities(text)
	}
	kind := "edited_message"
	if c.Type == "channel" {
		kind = "edited_channel_post"
	}
	s.offerUpdate(kind, encode(m), s.isVisibleToBot(c, m))
	return *m
}

// UserDeletes makes a user delete a message, their own or the bot's. Telegram sends no update for
// it.
func (s *Server) UserDeletes(chat int64, id int) {
	s.Update(func() {
		if m := s.chatByID(chat).find(id); m != nil {
			m.deleted = true
		}
	})
}

// UserPresses makes a user press a button; from is as in UserPost. It returns the ID of the query,
// for QueryAnswer. The button may be gone, because people may see an old state.
func (s *Server) UserPresses(chat, from int64, message int, data string) string {
	s.Lock()
	defer s.Unlock()
	c := s.chatByID(chat)
	var signed Message
	s.setSender(c, from, &signed)
	id := strconv.FormatInt(4_382_000_000_000_000_000+int64(len(s.answers)), 10)
	s.answers[id] = &Answer{}
	query := map[string]any{
		"id": id, "from": signed.From, "chat_instance": itoa(c.ID * 31), "data": data,
		// A deleted message is an InaccessibleMessage, which has the date 0.
		"message": map[string]any{"chat": c.Chat, "message_id": message, "date": 0},
	}
	if m := c.find(message); m != nil {
		query["message"] = m
	}
	s.offerUpdate("callback_query", encode(query), true)
	return id
}

// InjectUpdate offers an update that a test has written itself: a JSON object without update_id,
// which is added. It returns the update's ID.
func (s *Server) InjectUpdate(update string) int {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(update), &fields); err != nil {
		panic("telegramtest: Inject wants a JSON object: " + err.Error())
	}
	s.Lock()
	defer s.Unlock()
	fields["update_id"] = encode(s.updates.next)
	return s.enqueueUpdate(encode(fields))
}

// InjectUndecodableUpdate offers an update whose message is a string instead of an object.
func (s *Server) InjectUndecodableUpdate() int { return s.InjectUpdate(`{"message":"undecodable"}`) }
