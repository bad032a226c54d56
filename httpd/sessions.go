package httpd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"
)

// OutFile is where in the state the sessions are that were ended before their time.
const OutFile = "http.out"

// sessions knows which sessions were ended before their time, until when their cookies would be good, and what is going on in the others.
type sessions struct {
	path string

	mu   sync.Mutex
	out  map[string]time.Time
	open map[string]map[*func()]struct{} // what ends the requests of a session
}

func loadSessions(path string) (*sessions, error) {
	s := &sessions{path: path, out: map[string]time.Time{}, open: map[string]map[*func()]struct{}{}}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read who signed out: %w", err)
	}
	if err := json.Unmarshal(content, &s.out); err != nil {
		return nil, fmt.Errorf("read who signed out: %s is damaged; remove it together with %s, and everybody needs a new link: %w", path, KeyFile, err)
	}
	return s, nil
}

func (s *sessions) ended(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, out := s.out[session]
	return out
}

// join has stop called if the session ends before leave is called.
func (s *sessions) join(session string, stop func()) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, out := s.out[session]; out {
		stop()
		return func() {}
	}
	if s.open[session] == nil {
		s.open[session] = map[*func()]struct{}{}
	}
	s.open[session][&stop] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open[session], &stop)
		if len(s.open[session]) == 0 {
			delete(s.open, session)
		}
	}
}

// end ends a session that would be good until expires, and what goes on in it. An error says that it will be good again after a restart.
func (s *sessions) end(session string, expires, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.out, func(_ string, until time.Time) bool { return !now.Before(until) })
	s.out[session] = expires
	for stop := range s.open[session] {
		(*stop)()
	}
	content, err := json.Marshal(s.out)
	if err != nil {
		return err
	}
	if err := writeFile(s.path, content); err != nil {
		return fmt.Errorf("write who signed out: %w", err)
	}
	return nil
}
