package sqlite

import "sync"

// askingChats lists the chats that may have an open question, so that messages of all other chats
// need no query for one. Only the daemon asks questions, so only its handle has a list; nil: any
// chat may have an open question. The database decides: a chat that is listed by mistake costs a
// query.
type askingChats struct {
	mu      sync.Mutex
	version int            // grows with every change of the list, so that forget notices each of them
	chats   map[string]int // the version at which a chat was listed last
	storing map[string]int // how many questions of a chat are being stored
}

// findAsking returns the chats that have open questions.
func (t *tx) findAsking() (*askingChats, error) {
	a := &askingChats{chats: map[string]int{}, storing: map[string]int{}}
	err := t.each("SELECT DISTINCT chat FROM question WHERE closed = 0", nil, func(scan func(...any) error) error {
		var chat string
		err := scan(&chat)
		a.chats[chat] = 0
		return err
	})
	return a, err
}

// begin lists a chat whose question is about to be stored. done must be called when it is stored,
// or when that has failed: nobody knows then whether it is in the database.
func (a *askingChats) begin(chat string) (done func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.storing[chat]++
	a.list(chat)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.storing[chat]--; a.storing[chat] == 0 {
			delete(a.storing, chat)
		}
		a.list(chat)
	}
}

// list puts a chat on the list. The caller holds the mutex.
func (a *askingChats) list(chat string) {
	a.version++
	a.chats[chat] = a.version
}

// listed returns the version at which a chat was listed last. It reports false if no question of
// the chat is open.
func (a *askingChats) listed(chat string) (version int, asking bool) {
	if a == nil {
		return 0, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	version, asking = a.chats[chat]
	return version, asking
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

// forget removes a chat in which no question was open at a version.
func (a *askingChats) forget(chat string, version int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chats[chat] == version && a.storing[chat] == 0 {
		delete(a.chats, chat)
	}
}
