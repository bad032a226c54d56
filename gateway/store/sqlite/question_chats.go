package sqlite

import "sync"

// questionChats is the set of chats that may have an open question or a secret answer, so that
// messages of other chats need no query. Only the daemon asks questions, so only its handle has a
// set; nil contains every chat. The database decides: a chat that is in the set by mistake costs a
// query.
type questionChats struct {
	mu      sync.Mutex
	version int            // incremented by every add, so that removeIfUnchanged notices it
	chats   map[string]int // the version at which a chat was added last
	storing map[string]int // the number of a chat's questions that are being stored
}

// loadQuestionChats reads the chats that have open questions or secret answers.
func loadQuestionChats(c *conn) (*questionChats, error) {
	a := &questionChats{chats: map[string]int{}, storing: map[string]int{}}
	err := c.queryRows("SELECT chat FROM question WHERE closed = 0 UNION SELECT chat FROM question WHERE secret = 1 AND answer IS NOT NULL", nil, func(scan func(...any) error) error {
		var chat string
		err := scan(&chat)
		a.chats[chat] = 0
		return err
	})
	return a, err
}

// addStoring adds a chat whose question is about to be stored. done must be called afterwards, also
// after a failure, because the question may be in the database nevertheless.
func (a *questionChats) addStoring(chat string) (done func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.storing[chat]++
	a.add(chat)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.storing[chat]--; a.storing[chat] == 0 {
			delete(a.storing, chat)
		}
		a.add(chat)
	}
}

// add adds a chat. The caller holds the mutex.
func (a *questionChats) add(chat string) {
	a.version++
	a.chats[chat] = a.version
}

// versionOf returns the version at which a chat was added last. It reports false if the chat has no
// open question.
func (a *questionChats) versionOf(chat string) (version int, asking bool) {
	if a == nil {
		return 0, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	version, asking = a.chats[chat]
	return version, asking
}

// notEmpty reports whether any chat may have an open question.
func (a *questionChats) notEmpty() bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.chats) > 0
}

// removeIfUnchanged removes a chat that had no open question at the given version, unless a
// question was added since.
func (a *questionChats) removeIfUnchanged(chat string, version int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chats[chat] == version && a.storing[chat] == 0 {
		delete(a.chats, chat)
	}
}
