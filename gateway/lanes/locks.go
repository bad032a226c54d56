package lanes

import (
	"sync"

	"nanobot/channels"
)

// chatLocks is one mutex per chat. The zero value is ready to use; a chat that nobody locks costs
// no memory.
type chatLocks struct {
	mu    sync.Mutex
	chats map[channels.Chat]*chatLock
}

// chatLock is the mutex of one chat. It exists while users hold it or wait for it.
type chatLock struct {
	held  chan struct{} // full while somebody holds it
	users int
}

// lock locks a chat. The caller unlocks it with the function that it gets.
func (l *chatLocks) lock(chat channels.Chat) (unlock func()) {
	l.mu.Lock()
	c := l.chats[chat]
	if c == nil {
		if l.chats == nil {
			l.chats = map[channels.Chat]*chatLock{}
		}
		c = &chatLock{held: make(chan struct{}, 1)}
		l.chats[chat] = c
	}
	c.users++
	l.mu.Unlock()
	c.held <- struct{}{}
	return func() {
		<-c.held
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.users--; c.users == 0 {
			delete(l.chats, chat)
		}
	}
}

// claims knows of the claim in progress. A claim chooses its chat, so a chat's lock cannot cover
// it: the work is running on disk for a moment before its turn can be found in memory.
type claims struct {
	mu      sync.Mutex
	current chan struct{} // closed at the end of the claim in progress; nil when there is none
}

// begin says that a claim begins. The caller ends it when the turn can be found in memory.
// Claims are made one at a time.
func (c *claims) begin() (end func()) {
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

// wait waits for the end of the claim that is in progress, if there is one.
func (c *claims) wait() {
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()
	if current != nil {
		<-current
	}
}
