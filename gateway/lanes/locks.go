package lanes

import (
	"sync"

	"nanobot/channels"
)

// chatLocks is one mutex per chat. The zero value is ready to use; an unlocked chat costs no
// memory.
type chatLocks struct {
	mu    sync.Mutex
	chats map[channels.Chat]*chatLock
}

// chatLock is the mutex of one chat. It exists while a goroutine has locked it or waits for it.
type chatLock struct {
	held  chan struct{} // full while the chat is locked
	users int
}

// lock locks a chat and returns the function that unlocks it.
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

// pendingClaim tracks the claim in progress. The store chooses the chat of a claim, so a chat lock
// cannot cover it: the turn runs on disk for a moment before it can be found in memory.
type pendingClaim struct {
	mu      sync.Mutex
	current chan struct{} // closed at the end of the claim in progress; nil: there is none
}

// begin marks the beginning of a claim. The caller calls end when the turn can be found in memory.
// There is at most one claim at a time.
func (c *pendingClaim) begin() (end func()) {
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

// wait waits for the end of the claim in progress, if there is one.
func (c *pendingClaim) wait() {
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()
	if current != nil {
		<-current
	}
}
