package sqlite

import "sync"

// maxChats bounds how many chats a chatSet knows, and so its memory.
const maxChats = 4096

// chatSet knows of which chats a table may have rows, so that the others need not be looked up.
// Only the daemon writes to the table, so only its handle has one; a nil one may have any chat. The
// database decides: a chat that is in it by mistake costs a query.
type chatSet struct {
	mu    sync.Mutex
	chats map[string]bool
	all   bool // there were too many to know them
}

// findChats returns the chats that a query finds.
func (t *tx) findChats(query string) (*chatSet, error) {
	c := &chatSet{chats: map[string]bool{}}
	err := t.each(query, nil, func(scan func(...any) error) error {
		var chat string
		err := scan(&chat)
		c.add(chat)
		return err
	})
	return c, err
}

// add adds a chat. It is called before the row is stored.
func (c *chatSet) add(chat string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chats[chat] = true; len(c.chats) > maxChats {
		c.chats, c.all = map[string]bool{}, true
	}
}

// has reports whether there may be a row of a chat.
func (c *chatSet) has(chat string) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all || c.chats[chat]
}
