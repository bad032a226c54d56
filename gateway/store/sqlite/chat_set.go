package sqlite

import (
	"fmt"
	"sync"
)

// maxChatSet bounds the chats in a chatSet, and so its memory.
const maxChatSet = 4096

// chatSet is the set of chats that may have rows in a table, so that other chats need no query.
// Only the daemon writes to the table, so only its handle has a set; nil contains every chat. The
// database decides: a chat that is in the set without a row, such as one whose questions are all
// answered, costs a query.
type chatSet struct {
	mu         sync.Mutex
	chats      map[string]bool
	overflowed bool // maxChatSet was exceeded: the set contains every chat
}

// loadChatSet reads the set of chats that a query returns. One more than the limit is enough to know
// that there are too many.
func loadChatSet(c *conn, query string) (*chatSet, error) {
	set := &chatSet{chats: map[string]bool{}}
	chats, err := appendRows(column[string], func(do func(func(...any) error) error) error {
		return c.queryRows(fmt.Sprintf("SELECT DISTINCT chat FROM (%s) LIMIT %d", query, maxChatSet+1), nil, do)
	})
	for _, chat := range chats {
		set.add(chat)
	}
	return set, err
}

// add adds a chat. It must be called before the row is stored.
func (c *chatSet) add(chat string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chats[chat] = true; len(c.chats) > maxChatSet {
		c.chats, c.overflowed = map[string]bool{}, true
	}
}

// has reports whether a chat may have a row.
func (c *chatSet) has(chat string) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overflowed || c.chats[chat]
}

// isEmpty reports whether no chat has a row.
func (c *chatSet) isEmpty() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.overflowed && len(c.chats) == 0
}
