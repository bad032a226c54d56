package httpd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// OutFile is where in the state the sessions are that were ended before their time.
	OutFile = "http.out"
	// OutLock is locked by whoever writes OutFile: the daemon, or a command beside it.
	OutLock = "http.lock"
	// lockTimeout is how long another writer of OutFile is waited for. Writing takes milliseconds.
	lockTimeout = 5 * time.Second
	// revokeDelay is how long a request may go on after another process has ended its session.
	revokeDelay = time.Second
	// seenDelay is how exactly it is known when a session was last used.
	seenDelay = time.Minute
)

// sessions knows which sessions were ended before their time, until when their cookies would be
// good, and which requests belong to the others. A command beside the daemon ends a session by
// writing OutFile, which is looked at before every request.
type sessions struct {
	records records
	path    string

	mu    sync.Mutex
	file  os.FileInfo // of OutFile, when it was read
	out   map[string]time.Time
	seen  map[string]time.Time            // when a session's record was last touched
	open  map[string]map[*func()]struct{} // what ends the requests of a session
	watch *time.Timer                     // looks at OutFile; nil while no request is open
}

func loadSessions(state string) (*sessions, error) {
	s := &sessions{
		records: records{filepath.Join(state, SessionFolder)}, path: filepath.Join(state, OutFile),
		seen: map[string]time.Time{}, open: map[string]map[*func()]struct{}{},
	}
	var err error
	s.out, s.file, err = readOut(s.path)
	return s, err
}

// readOut reads the sessions that were ended. Without a file there are none.
func readOut(path string) (out map[string]time.Time, info os.FileInfo, err error) {
	out = map[string]time.Time{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read who signed out: %w", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, fmt.Errorf("read who signed out: %w", err)
	}
	if err := json.NewDecoder(f).Decode(&out); err != nil {
		return nil, nil, fmt.Errorf("read who signed out: %s is damaged; remove it together with %s, and everybody needs a new link: %w", path, KeyFile, err)
	}
	return out, info, nil
}

// lockOut locks OutFile against other writers until its result is closed. It does not wait for
// ever: a request is waiting.
func lockOut(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(path), OutLock), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock who signed out: %w", err)
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("lock who signed out: %s: %w", lock.Name(), err), lock.Close())
		}
	}
}

// endSessions adds sessions to OutFile, each with the time until which its cookie would be good. It
// returns all that are ended.
func endSessions(path string, ended map[string]time.Time, now time.Time) (map[string]time.Time, os.FileInfo, error) {
	lock, err := lockOut(path)
	if err != nil {
		return nil, nil, err
	}
	defer lock.Close() // which unlocks
	all, _, err := readOut(path)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(all, ended)
	maps.DeleteFunc(all, func(_ string, until time.Time) bool { return !now.Before(until) })
	content, err := json.Marshal(all)
	if err != nil {
		return nil, nil, err
	}
	if err := writeFile(path, content); err != nil {
		return nil, nil, fmt.Errorf("write who signed out: %w", err)
	}
	info, err := os.Stat(path)
	return all, info, err
}

// refresh reads OutFile if another process has written it. What cannot be read changes nothing:
// nobody comes back by it.
func (s *sessions) refresh() {
	info, err := os.Stat(s.path)
	if err != nil || s.file != nil && os.SameFile(info, s.file) && info.ModTime().Equal(s.file.ModTime()) && info.Size() == s.file.Size() {
		return
	}
	out, info, err := readOut(s.path)
	if err != nil {
		return
	}
	maps.Copy(s.out, out)
	s.file = info
}

func (s *sessions) ended(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	_, out := s.out[session]
	return out
}

// touch records that a session is in use. A session without a record gets one: it began before
// records were kept.
func (s *sessions) touch(id Identity, now time.Time) {
	s.mu.Lock()
	last, known := s.seen[id.session]
	due := !known || now.Sub(last) >= seenDelay
	if due {
		maps.DeleteFunc(s.seen, func(_ string, at time.Time) bool { return now.Sub(at) > sessionLife })
		s.seen[id.session] = now
	}
	s.mu.Unlock()
	if due && errors.Is(s.records.touch(id.session, now), fs.ErrNotExist) {
		_ = s.records.write(id, id.Expires.Add(-sessionLife), now) // tried again in a minute
	}
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
	if s.watch == nil {
		s.watch = time.AfterFunc(revokeDelay, s.look)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open[session], &stop)
		if len(s.open[session]) == 0 {
			delete(s.open, session)
		}
		if len(s.open) == 0 && s.watch != nil {
			s.watch.Stop()
			s.watch = nil
		}
	}
}

// look ends the requests of sessions that another process has ended.
func (s *sessions) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return
	}
	s.refresh()
	for session := range s.open {
		s.hangUp(session)
	}
	s.watch.Reset(revokeDelay)
}

// hangUp ends the requests of a session that was ended.
func (s *sessions) hangUp(session string) {
	if _, out := s.out[session]; !out {
		return
	}
	for stop := range s.open[session] {
		(*stop)()
	}
}

// end ends a session that would be good until expires, and its requests. An error says that it will
// be good again after a restart.
func (s *sessions) end(session string, expires, now time.Time) error {
	s.mu.Lock()
	s.out[session] = expires
	s.hangUp(session)
	s.mu.Unlock()
	all, info, err := endSessions(s.path, map[string]time.Time{session: expires}, now)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.out, func(_ string, until time.Time) bool { return !now.Before(until) })
	maps.Copy(s.out, all)
	s.file = info
	return s.records.remove(session)
}
