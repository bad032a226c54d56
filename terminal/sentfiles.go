package terminal

import "sync"

// sentFiles are the paths of the files that a turn has sent, without symbolic links. A file that
// the agent both sends and links to is sent once. A nil *sentFiles records nothing.
type sentFiles struct {
	mu    sync.Mutex
	paths map[string]bool
}

// add records files that are sent.
func (s *sentFiles) add(files ...File) {
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
func (s *sentFiles) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.paths)
}

// has reports whether a file was sent.
func (s *sentFiles) has(path string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paths[path]
}

// sentFilesOfTurns are the files that the running turns have sent, by their chats. Tools send files
// of a turn without its frames.
type sentFilesOfTurns struct {
	mu     sync.Mutex
	byChat map[string]*sentFiles
}

// begin starts the record of a chat's turn. end removes it, and clears it for messages that the
// agent sends after the turn.
func (t *sentFilesOfTurns) begin(chat string) (s *sentFiles, end func()) {
	s = &sentFiles{}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byChat == nil {
		t.byChat = map[string]*sentFiles{}
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

// ofChat returns the record of a chat's running turn, or nil.
func (t *sentFilesOfTurns) ofChat(chat string) *sentFiles {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byChat[chat]
}
