package telegramtest

import (
	"cmp"
	"strings"
	"time"
)

// chat is one chat with its messages.
type chat struct {
	Chat
	messages  []*Message
	lastID    int          // in supergroups and channels, which have a sequence of their own
	topics    map[int]bool // of a forum
	closed    map[int]bool // topics in which nobody can write
	forbidden string       // description of the 403 that answers every send
	migrated  int64
	reactions []string // the emoji that are allowed; nil: all of Telegram's
	draft     *Draft
}

// AddUser adds a user with a private chat of the same ID. UserSends and the like add unknown users
// themselves.
func (s *Server) AddUser(u User) {
	s.Update(func() { s.addUser(u) })
}

func (s *Server) addUser(u User) {
	u.FirstName = cmp.Or(u.FirstName, "User"+itoa(u.ID))
	s.users[u.ID] = u
	c := Chat{ID: u.ID, Type: "private", Username: u.Username, FirstName: u.FirstName, LastName: u.LastName}
	if known := s.chats[u.ID]; known != nil {
		known.Chat = c
		return
	}
	s.chats[u.ID] = &chat{Chat: c, topics: map[int]bool{}}
}

// userByID returns a user, which it adds if necessary.
func (s *Server) userByID(id int64) User {
	if _, ok := s.users[id]; !ok {
		s.addUser(User{ID: id})
	}
	return s.users[id]
}

// AddChat adds a group, supergroup, forum or channel. An empty Type is derived from the ID as
// Telegram assigns them: -100… is a supergroup, any other negative ID a basic group, a positive
// one a user.
func (s *Server) AddChat(c Chat) {
	s.Update(func() { s.addChat(c) })
}

func (s *Server) addChat(c Chat) *chat {
	if c.ID > 0 {
		s.userByID(c.ID)
		return s.chats[c.ID]
	}
	guess := "group"
	if strings.HasPrefix(itoa(c.ID), "-100") && c.ID < -1_000_000_000_000 {
		guess = "supergroup"
	}
	c.Type = cmp.Or(c.Type, guess)
	c.Title = cmp.Or(c.Title, "Chat "+itoa(c.ID))
	if known := s.chats[c.ID]; known != nil {
		known.Chat = c
		return known
	}
	s.chats[c.ID] = &chat{Chat: c, topics: map[int]bool{}}
	return s.chats[c.ID]
}

// chatByID returns a chat, which it adds if necessary.
func (s *Server) chatByID(id int64) *chat {
	if c := s.chats[id]; c != nil {
		return c
	}
	return s.addChat(Chat{ID: id})
}

// AddTopic creates a topic, turns its chat into a forum, and returns the topic's ID.
func (s *Server) AddTopic(id int64, name string) int {
	var thread int
	s.Update(func() {
		c := s.chatByID(id)
		c.IsForum = true
		m := s.appendMessage(c, &Message{From: new(s.userByID(defaultSender)), TopicCreated: &Topic{Name: name, IconColor: 7322096}})
		m.Thread, m.IsTopicMessage, thread = m.ID, true, m.ID
		c.topics[thread] = true
		s.offerUpdate("message", encode(m), true)
	})
	return thread
}

// CloseTopic closes a topic, so that sends are answered with TOPIC_CLOSED.
func (s *Server) CloseTopic(id int64, topic int) {
	s.Update(func() {
		c := s.chatByID(id)
		if c.closed == nil {
			c.closed = map[int]bool{}
		}
		c.closed[topic] = true
	})
}

// DeleteTopic deletes a topic with its messages.
func (s *Server) DeleteTopic(id int64, topic int) {
	s.Update(func() {
		c := s.chatByID(id)
		delete(c.topics, topic)
		for _, m := range c.messages {
			m.deleted = m.deleted || m.IsTopicMessage && m.Thread == topic
		}
	})
}

// Block makes the user of a private chat block the bot: sends are answered with 403, and the bot
// gets an update.
func (s *Server) Block(id int64) { s.setForbidden(id, "Forbidden: bot was blocked by the user") }

// Kick removes the bot from a group: sends are answered with 403, and the bot gets an update.
func (s *Server) Kick(id int64) {
	s.Lock()
	kind := s.chatByID(id).Type
	s.Unlock()
	if kind == "channel" {
		s.setForbidden(id, "Forbidden: bot was kicked from the channel chat")
		return
	}
	s.setForbidden(id, "Forbidden: bot was kicked from the "+kind+" chat")
}

func (s *Server) setForbidden(id int64, description string) {
	s.Update(func() {
		c := s.chatByID(id)
		c.forbidden = description
		s.offerMembership(c, "member", "kicked")
	})
}

// Readmit reverts Block and Kick.
func (s *Server) Readmit(id int64) {
	s.Update(func() {
		c := s.chatByID(id)
		c.forbidden = ""
		s.offerMembership(c, "kicked", "member")
	})
}

// DeleteChat removes a chat, so that sends are answered with "chat not found".
func (s *Server) DeleteChat(id int64) { s.Update(func() { delete(s.chats, id) }) }

// offerMembership offers an update about the bot's own membership.
func (s *Server) offerMembership(c *chat, before, after string) {
	by := s.userByID(max(c.ID, 0))
	if c.ID < 0 {
		by = s.userByID(defaultSender)
	}
	state := func(status string) map[string]any {
		m := map[string]any{"status": status, "user": s.Bot}
		if status == "kicked" {
			m["until_date"] = 0
		}
		return m
	}
	s.offerUpdate("my_chat_member", encode(map[string]any{
		"chat": c.Chat, "from": by, "date": time.Now().Unix(),
		"old_chat_member": state(before), "new_chat_member": state(after),
	}), true)
}

// Migrate turns a group into a supergroup, with the service messages in both. Later sends to the
// group are refused with migrate_to_chat_id.
func (s *Server) Migrate(from, to int64) {
	s.Update(func() {
		old := s.chatByID(from)
		next := s.addChat(Chat{ID: to, Type: "supergroup", Title: old.Title})
		old.migrated = to
		by := s.userByID(defaultSender)
		s.offerUpdate("message", encode(s.appendMessage(old, &Message{From: &by, MigrateTo: to})), true)
		s.offerUpdate("message", encode(s.appendMessage(next, &Message{From: &by, MigrateFrom: from})), true)
	})
}

// appendMessage adds a message to a chat and assigns its ID.
func (s *Server) appendMessage(c *chat, m *Message) *Message {
	switch c.Type {
	case "supergroup", "channel":
		c.lastID++
		m.ID = c.lastID + 1 // 1 is the creation of the chat, and the general topic of a forum
	default:
		s.nextMessageID++
		m.ID = s.nextMessageID
	}
	m.Chat = c.Chat
	m.ShownAt = time.Now()
	m.Date = cmp.Or(m.Date, m.ShownAt.Unix())
	c.messages = append(c.messages, m)
	return m
}

// find returns a message of a chat that is not deleted, or nil.
func (c *chat) find(id int) *Message {
	for _, m := range c.messages {
		if m.ID == id && !m.deleted {
			return m
		}
	}
	return nil
}

// FindMessage returns a message that a chat shows.
func (s *Server) FindMessage(chat int64, id int) (found Message, ok bool) {
	s.Lock()
	defer s.Unlock()
	if c := s.chats[chat]; c != nil {
		if m := c.find(id); m != nil {
			return *m, true
		}
	}
	return found, false
}

// withoutReply returns a message as it is quoted in a reply: without the message that it replies
// to.
func withoutReply(m *Message) *Message {
	if m == nil {
		return nil
	}
	q := *m
	q.ReplyTo = nil
	return &q
}
