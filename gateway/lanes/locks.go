// Package lanes runs the turns of each chat in order, and the turns of different chats side by side.
// It knows nothing of networks and of what a turn does.
package lanes

import (
	"sync"

	"nanobot/channels"
)

// ChatLocks is one mutex per chat. The zero value is ready to use; a chat that nobody locks costs
// no memory.
type ChatLocks struct {
	mu    sync.Mutex
	chats map[channels.Chat]*chatLock
}

// chatLock is the mutex of one chat. It exists while users hold it or wait for it.
type chatLock struct {
	sync.Mutex
	users int
}

// Lock locks a chat. The caller unlocks it with the function that it gets.
func (l *ChatLocks) Lock(chat channels.Chat) (unlock func()) {
	l.mu.Lock()
	c := l.chats[chat]
	if c == nil {
		if l.chats == nil {
			l.chats = map[channels.Chat]*chatLock{}
		}
		c = &chatLock{}
		l.chats[chat] = c
	}
	c.users++
	l.mu.Unlock()
	c.Lock()
	return func() {
		c.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.users--; c.users == 0 {
			delete(l.chats, chat)
		}
	}
}

// Claims counts the claims in progress. A claim chooses its chat, so a chat's lock cannot cover it:
// the work is running on disk for a moment before its turn can be found in memory.
type Claims struct {
	mu      sync.Mutex
	current chan struct{} // closed at the end of the claim in progress; nil when there is none
}

// Begin says that a claim begins. The caller ends it when the turn can be found in memory. Claims
// are made one at a time.
func (c *Claims) Begin() (end func()) {
	done := make(chan struct{})
	c.mu.Lock()
	c.current = done
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		c.current = nil
		c.mu.Unlock()
		close(done)
	}
}

// Wait waits for the end of the claim that is in progress, if there is one.
func (c *Claims) Wait() {
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()
	if current != nil {
		<-current
	}
}
