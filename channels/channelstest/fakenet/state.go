// Package fakenet has what the test servers of chat networks share: a state that tests can wait
// for, recorded calls, faults, violations, and the messages that the bot shows. It knows nothing of
// any particular network.
package fakenet

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// WaitLimit bounds the waits that fail the test.
const WaitLimit = 5 * time.Minute

// State is the state of a server, with the HTTP server itself. Its lock protects everything that a
// server embeds it for.
type State struct {
	sync.Mutex
	changed         *sync.Cond // signalled on every change of the state
	server          *httptest.Server
	closed          chan struct{}
	close           sync.Once
	openConnections int
	clockOffset     time.Duration
	violations      []string
}

// TB is what the servers use of testing.TB. They do not import testing, so that a program can link
// them.
type TB interface {
	Helper()
	Cleanup(end func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Open begins a state without an HTTP server. Open, Serve or ServeInMemory is called before all
// other methods.
func (s *State) Open() {
	s.changed = sync.NewCond(s)
	s.closed = make(chan struct{})
}

// Serve starts the HTTP server and returns its URL.
func (s *State) Serve(h http.Handler) (url string) {
	s.Open()
	s.server = httptest.NewUnstartedServer(h)
	s.server.Config.ConnState = s.countConnection
	s.server.Start()
	return s.server.URL
}

// ServeInMemory is Serve without connections, for tests in a synctest bubble: the requests of the
// returned client call the handler.
func (s *State) ServeInMemory(h http.Handler) *http.Client {
	s.Open()
	return &http.Client{Transport: inMemory{h}}
}

// inMemory is a network without connections.
type inMemory struct{ http.Handler }

// RoundTrip calls the handler. If the handler aborts the connection, there is no response.
func (n inMemory) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	defer func() {
		if aborted := recover(); aborted != nil {
			resp, err = nil, cmp.Or(r.Context().Err(), fmt.Errorf("%v", aborted))
		}
	}()
	w := httptest.NewRecorder()
	n.ServeHTTP(w, r)
	return w.Result(), nil
}

// Shutdown wakes all waiters, calls end, and stops the HTTP server. Further calls do nothing.
func (s *State) Shutdown(end func()) {
	s.close.Do(func() {
		s.Update(func() { close(s.closed) })
		end()
		if s.server != nil {
			s.server.CloseClientConnections()
			s.server.Close()
		}
	})
}

// ShutdownAtCleanup calls shutdown at the end of the test, which fails if there are violations of
// the API that it has not taken with TakeViolations.
func (s *State) ShutdownAtCleanup(t TB, api string, shutdown func()) {
	t.Cleanup(func() {
		shutdown()
		for _, v := range s.TakeViolations() {
			t.Errorf("violation of the %s: %s", api, v)
		}
	})
}

// IsClosed reports whether Shutdown was called.
func (s *State) IsClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// AdvanceClock moves the server's clock, see Now.
func (s *State) AdvanceClock(d time.Duration) { s.Update(func() { s.clockOffset += d }) }

// ClockOffset returns by how much the clock was moved. A limit that is measured with it does not
// end while the machine gives the bot no time to run. The lock must be held.
func (s *State) ClockOffset() time.Duration { return s.clockOffset }

// Now returns the time of the server's clock. The lock must be held.
func (s *State) Now() time.Time { return time.Now().Add(s.clockOffset) }

// Update changes the state and wakes all waiters.
func (s *State) Update(change func()) {
	s.Lock()
	defer s.Unlock()
	change()
	s.Broadcast()
}

// Broadcast wakes all waiters, which evaluate their conditions again once they have the lock.
func (s *State) Broadcast() { s.changed.Broadcast() }

// Wait waits for the next change. The lock must be held.
func (s *State) Wait() { s.changed.Wait() }

// Await waits until holds reports true; holds is called with the lock held. It reports false if ctx
// or the server ends first.
func (s *State) Await(ctx context.Context, holds func() bool) bool {
	defer context.AfterFunc(ctx, func() { s.Update(func() {}) })()
	s.Lock()
	defer s.Unlock()
	for !holds() {
		if ctx.Err() != nil || s.IsClosed() {
			return false
		}
		s.Wait()
	}
	return true
}

// AwaitFor is Await with a timeout.
func (s *State) AwaitFor(timeout time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.Await(ctx, holds)
}

// AddViolation records a request that a correct bot never makes. The lock must be held.
func (s *State) AddViolation(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// Violations returns the requests that a correct bot never makes: unknown names, texts that are too
// long, invalid parts of messages. Errors that a correct bot may get (a deleted message, a blocked
// chat, a file that is too large) are not violations.
func (s *State) Violations() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.violations)
}

// TakeViolations returns the violations and removes them, for a test that provokes them.
func (s *State) TakeViolations() []string {
	s.Lock()
	defer s.Unlock()
	v := s.violations
	s.violations = nil
	return v
}
