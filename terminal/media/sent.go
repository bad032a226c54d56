package media

import "sync"

// Sent are the paths of the files that a turn has sent, without symbolic links. A file that
// the agent both sends and links to is sent once.
type Sent struct {
	mu    sync.Mutex
	paths map[string]bool
}

// Add records files that are sent, unless s is nil.
func (s *Sent) Add(files ...File) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths == nil {
		s.paths = map[string]bool{}
	}
	for _, f := range files {
		s.paths[f.Path] = true
	}
}

// clear removes all files from the record.
func (s *Sent) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.paths)
}

// Has reports whether a file was sent.
func (s *Sent) Has(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paths[path]
}

// SentByTurns are the files that the running turns have sent, by their chats. Tools send files
// of a turn without its frames.
type SentByTurns struct {
	mu     sync.Mutex
	byChat map[string]*Sent
}

// Begin starts the record of a chat's turn. end removes it, and clears it for messages that the
// agent sends after the turn.
func (t *SentByTurns) Begin(chat string) (s *Sent, end func()) {
	s = &Sent{}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byChat == nil {
		t.byChat = map[string]*Sent{}
	}
	t.byChat[chat] = s
	return s, func() {
		s.clear()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.byChat[chat] == s {
			delete(t.byChat, chat)
		}
	}
}

// OfChat returns the record of a chat's running turn, or nil.
func (t *SentByTurns) OfChat(chat string) *Sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byChat[chat]
}
