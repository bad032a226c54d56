package telegramtest

import (
	"cmp"
	"strings"
	"time"
)

// chat is one conversation and what may be done in it.
type chat struct {
	Chat
	messages []*Message
	lastID   int          // in supergroups and channels, which count by themselves
	topics   map[int]bool // of a forum
	banned   string       // the description of the 403 that every send is answered with
	migrated int64
}

// AddUser makes a person known, with a private chat of the same id. Say and its like do so by
// themselves.
func (s *Server) AddUser(u User) {
	s.update(func() { s.addUser(u) })
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

// user returns a person, whom it makes known if need be.
func (s *Server) user(id int64) User {
	if _, ok := s.users[id]; !ok {
		s.addUser(User{ID: id})
	}
	return s.users[id]
}

// AddChat makes a group, supergroup, forum or channel known. An empty Type is guessed from the id,
// as Telegram numbers them: -100… is a supergroup, another negative id a basic group, a positive
// one a person.
func (s *Server) AddChat(c Chat) {
	s.update(func() { s.addChat(c) })
}

func (s *Server) addChat(c Chat) *chat {
	if c.ID > 0 {
		s.user(c.ID)
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

// chat returns a chat, which it makes known if need be.
func (s *Server) chat(id int64) *chat {
	if c := s.chats[id]; c != nil {
		return c
	}
	return s.addChat(Chat{ID: id})
}

// AddTopic creates a topic, makes its chat a forum, and returns the topic's id.
func (s *Server) AddTopic(id int64, name string) int {
	var thread int
	s.update(func() {
		c := s.chat(id)
		c.IsForum = true
		m := s.add(c, &Message{From: new(s.user(defaultSender)), TopicCreated: &Topic{Name: name, IconColor: 7322096}})
		m.Thread, m.IsTopicMessage, thread = m.ID, true, m.ID
		c.topics[thread] = true
		s.offer("message", encode(m), true)
	})
	return thread
}

// Block has the person of a private chat block the bot: sends are answered with 403. The bot is
// told, as Telegram does.
func (s *Server) Block(id int64) { s.ban(id, "Forbidden: bot was blocked by the user") }

// Kick has the bot thrown out of a group: sends are answered with 403. The bot is told, as Telegram
// does.
func (s *Server) Kick(id int64) {
	s.mu.Lock()
	kind := s.chat(id).Type
	s.mu.Unlock()
	if kind == "channel" {
		s.ban(id, "Forbidden: bot was kicked from the channel chat")
		return
	}
	s.ban(id, "Forbidden: bot was kicked from the "+kind+" chat")
}

func (s *Server) ban(id int64, description string) {
	s.update(func() {
		c := s.chat(id)
		c.banned = description
		s.member(c, "member", "kicked")
	})
}

// Readmit undoes Block and Kick.
func (s *Server) Readmit(id int64) {
	s.update(func() {
		c := s.chat(id)
		c.banned = ""
		s.member(c, "kicked", "member")
	})
}

// DeleteChat has a chat disappear, as if the bot had never been there: sends are answered with "chat
// not found".
func (s *Server) DeleteChat(id int64) { s.update(func() { delete(s.chats, id) }) }

// member tells the bot that its own membership has changed.
func (s *Server) member(c *chat, before, after string) {
	by := s.user(max(c.ID, 0))
	if c.ID < 0 {
		by = s.user(defaultSender)
	}
	state := func(status string) map[string]any {
		m := map[string]any{"status": status, "user": s.Bot}
		if status == "kicked" {
			m["until_date"] = 0
		}
		return m
	}
	s.offer("my_chat_member", encode(map[string]any{
		"chat": c.Chat, "from": by, "date": time.Now().Unix(),
		"old_chat_member": state(before), "new_chat_member": state(after),
	}), true)
}

// Migrate turns a group into a supergroup, with the service messages on both sides. What is still
// sent to the group is refused with migrate_to_chat_id.
func (s *Server) Migrate(from, to int64) {
	s.update(func() {
		old := s.chat(from)
		next := s.addChat(Chat{ID: to, Type: "supergroup", Title: old.Title})
		old.migrated = to
		by := s.user(defaultSender)
		s.offer("message", encode(s.add(old, &Message{From: &by, MigrateTo: to})), true)
		s.offer("message", encode(s.add(next, &Message{From: &by, MigrateFrom: from})), true)
	})
}

// add puts a message into a chat and numbers it.
func (s *Server) add(c *chat, m *Message) *Message {
	switch c.Type {
	case "supergroup", "channel":
		c.lastID++
		m.ID = c.lastID + 1 // 1 is the chat's creation, and a forum's general topic
	default:
		s.nextID++
		m.ID = s.nextID
	}
	m.Chat = c.Chat
	m.Date = cmp.Or(m.Date, time.Now().Unix())
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

// quoted returns a message as it appears in a reply: without the one it replies to itself.
func quoted(m *Message) *Message {
	if m == nil {
		return nil
	}
	q := *m
	q.ReplyTo = nil
	return &q
}
