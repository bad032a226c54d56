package telegramtest

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// nextFault takes what is queued for a call's method, then for any, then what the test's function
// says.
func (s *Server) nextFault(c *Call) Fault {
	s.mu.Lock()
	ask := s.fault
	for _, name := range []string{c.Method, ""} {
		if q := s.queued[name]; len(q) > 0 {
			s.queued[name] = q[1:]
			s.mu.Unlock()
			return q[0]
		}
	}
	s.mu.Unlock()
	if ask == nil {
		return Fault{}
	}
	return ask(*c)
}

// before does the part of a fault that comes before the effect.
func (s *Server) before(ctx context.Context, f Fault, c *Call) {
	if f.HangUntil != nil {
		select {
		case <-f.HangUntil:
		case <-ctx.Done():
			s.abort(c)
		case <-s.closed:
			s.abort(c)
		}
	}
	if f.CutBefore {
		s.abort(c)
	}
}

// linger takes its time to answer.
func (s *Server) linger(ctx context.Context, f Fault) {
	if f.ResponseDelay <= 0 {
		return
	}
	select {
	case <-time.After(f.ResponseDelay):
	case <-ctx.Done():
	case <-s.closed:
	}
}

// write answers with a fault's error.
func (f Fault) write(w http.ResponseWriter) {
	if f.Body != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return
	}
	answer(w, nil, &refusal{
		status: f.Status, text: cmp.Or(f.Description, http.StatusText(f.Status)),
		retryAfter: f.RetryAfter, migrateTo: f.MigrateTo,
	})
}
