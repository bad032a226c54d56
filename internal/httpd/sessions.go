package httpd

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	// revokeInterval is how often open requests check whether another process has ended their
	// session.
	revokeInterval = time.Second
	// seenInterval is the precision of the time when a session was last used.
	seenInterval = time.Minute
)

// sessions tracks which sessions were ended before they expired, and cancels their open requests. A
// command can end a session while the daemon runs: every request reads the record of ended sessions
// first.
type sessions struct {
	records Records

	mu        sync.Mutex
	endedHere map[string]time.Time            // sessions ended by this process, in case the record could not be written
	seen      map[string]time.Time            // when the record of a session was last updated
	open      map[string]map[*func()]struct{} // the cancel functions of the open requests of a session
	watch     *time.Timer                     // runs checkRecords; nil while no request is open
}

func newSessions(r Records) *sessions {
	return &sessions{
		records: r, endedHere: map[string]time.Time{}, seen: map[string]time.Time{}, open: map[string]map[*func()]struct{}{},
	}
}

func (s *sessions) ended(ctx context.Context, session string) (bool, error) {
	s.mu.Lock()
	_, out := s.endedHere[session]
	s.mu.Unlock()
	if out {
		return true, nil
	}
	value, err := s.records.LoadRecord(ctx, signedOutPrefix+hashSecret(session))
	return value != "", err
}

// touch records that a session is in use.
func (s *sessions) touch(ctx context.Context, id Identity, now time.Time) {
	s.mu.Lock()
	last, known := s.seen[id.session]
	due := !known || now.Sub(last) >= seenInterval
	if due {
		maps.DeleteFunc(s.seen, func(_ string, at time.Time) bool { return now.Sub(at) > sessionLifetime })
		s.seen[id.session] = now
	}
	s.mu.Unlock()
	if due {
		_ = touchSession(ctx, s.records, id, now) // repeated in a minute
	}
}

// trackRequest calls stop if the session ends before leave is called.
func (s *sessions) trackRequest(session string, stop func()) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, out := s.endedHere[session]; out {
		stop()
		return func() {}
	}
	if s.open[session] == nil {
		s.open[session] = map[*func()]struct{}{}
	}
	s.open[session][&stop] = struct{}{}
	if s.watch == nil {
		s.watch = time.AfterFunc(revokeInterval, s.checkRecords)
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

// checkRecords cancels the requests of sessions that another process has ended.
func (s *sessions) checkRecords() {
	ended, _ := s.records.ListRecords(context.Background(), signedOutPrefix) // after an error the next run reads them
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return
	}
	for session := range s.open {
		if ended[signedOutPrefix+hashSecret(session)] != "" {
			s.cancelRequests(session)
		}
	}
	s.watch.Reset(revokeInterval)
}

// cancelRequests cancels the open requests of a session.
func (s *sessions) cancelRequests(session string) {
	for stop := range s.open[session] {
		(*stop)()
	}
}

// end ends a session and its requests. After an error the session is valid again at the next start.
func (s *sessions) end(ctx context.Context, id Identity, now time.Time) error {
	s.mu.Lock()
	maps.DeleteFunc(s.endedHere, func(_ string, until time.Time) bool { return !now.Before(until) })
	s.endedHere[id.session] = id.Expires
	s.cancelRequests(id.session)
	s.mu.Unlock()
	// The request that signs out is one of the requests just cancelled.
	ctx = context.WithoutCancel(ctx)
	if err := recordSignedOut(ctx, s.records, map[string]time.Time{hashSecret(id.session): id.Expires}); err != nil {
		return err
	}
	_ = removeExpired(ctx, s.records, now) // repeated at the next sign-out
	return nil
}
