package sqlite

import "sync"

// askingChats knows in which chats a question may be open, so that a message of another chat need
// not be looked up: nearly all are. Only the daemon asks questions, so only its handle has one; a
// nil one knows nothing. The database decides: a chat that is in it by mistake costs a query.
type askingChats struct {
	mu    sync.Mutex
	chats map[string]int // how often a question was asked since the chat is in it
}

// findAsking returns the chats that have open questions.
func (t *tx) findAsking() (*askingChats, error) {
	a := &askingChats{chats: map[string]int{}}
	err := t.each("SELECT DISTINCT chat FROM question WHERE closed = 0", nil, func(scan func(...any) error) error {
		var chat string
		err := scan(&chat)
		a.chats[chat]++
		return err
	})
	return a, err
}

// asked adds a chat. It is called before the question is stored, and once it is in the database.
func (a *askingChats) asked(chat string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chats[chat]++
}

// times returns how often a chat was asked. It reports false if no question of the chat is open.
func (a *askingChats) times(chat string) (n int, asking bool) {
	if a == nil {
		return 0, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n, asking = a.chats[chat]
	return n, asking
}

// any reports whether a question may be open anywhere.
func (a *askingChats) any() bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.chats) > 0
}

// forget removes a chat in which no question was open when it had been asked so often.
func (a *askingChats) forget(chat string, times int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chats[chat] == times {
		delete(a.chats, chat)
	}
}
