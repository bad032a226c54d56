package httpd

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	// revokeDelay is how long a request may go on after another process has ended its session.
	revokeDelay = time.Second
	// seenDelay is how exactly it is known when a session was last used.
	seenDelay = time.Minute
)

// sessions knows which sessions were ended before their time, and which requests belong to the
// others. A command beside the daemon ends a session by its record, which is read before every
// request.
type sessions struct {
	records Records

	mu    sync.Mutex
	out   map[string]time.Time            // those that were ended here, in case that this could not be recorded
	seen  map[string]time.Time            // when a session's record was last touched
	open  map[string]map[*func()]struct{} // what ends the requests of a session
	watch *time.Timer                     // looks at the records; nil while no request is open
}

func newSessions(r Records) *sessions {
	return &sessions{
		records: r, out: map[string]time.Time{}, seen: map[string]time.Time{}, open: map[string]map[*func()]struct{}{},
	}
}

func (s *sessions) ended(ctx context.Context, session string) (bool, error) {
	s.mu.Lock()
	_, out := s.out[session]
	s.mu.Unlock()
	if out {
		return true, nil
	}
	value, err := s.records.LoadRecord(ctx, outPrefix+hashName(session))
	return value != "", err
}

// touch records that a session is in use.
func (s *sessions) touch(ctx context.Context, id Identity, now time.Time) {
	s.mu.Lock()
	last, known := s.seen[id.session]
	due := !known || now.Sub(last) >= seenDelay
	if due {
		maps.DeleteFunc(s.seen, func(_ string, at time.Time) bool { return now.Sub(at) > sessionLife })
		s.seen[id.session] = now
	}
	s.mu.Unlock()
	if due {
		_ = touchSession(ctx, s.records, id, now) // tried again in a minute
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
	ended, _ := s.records.ListRecords(context.Background(), outPrefix) // what cannot be read is looked at again
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return
	}
	for session := range s.open {
		if ended[outPrefix+hashName(session)] != "" {
			s.hangUp(session)
		}
	}
	s.watch.Reset(revokeDelay)
}

// hangUp ends the requests of a session that was ended.
func (s *sessions) hangUp(session string) {
	for stop := range s.open[session] {
		(*stop)()
	}
}

// end ends a session and its requests. An error says that it will be good again after a restart.
func (s *sessions) end(ctx context.Context, id Identity, now time.Time) error {
	s.mu.Lock()
	maps.DeleteFunc(s.out, func(_ string, until time.Time) bool { return !now.Before(until) })
	s.out[id.session] = id.Expires
	s.hangUp(id.session)
	s.mu.Unlock()
	// The request that asks for it is one of those that have just ended.
	ctx = context.WithoutCancel(ctx)
	if err := endSessions(ctx, s.records, map[string]time.Time{hashName(id.session): id.Expires}); err != nil {
		return err
	}
	_ = tidy(ctx, s.records, now) // tried again next time
	return nil
}
