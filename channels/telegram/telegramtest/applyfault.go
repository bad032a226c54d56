package telegramtest

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// nextFault returns the next fault queued for the call's method, else the next one queued for any
// method, else the result of the test's function.
func (s *Server) nextFault(c *Call) Fault {
	s.mu.Lock()
	ask := s.faultFunc
	for _, name := range []string{c.Method, ""} {
		if q := s.queuedFaults[name]; len(q) > 0 {
			s.queuedFaults[name] = q[1:]
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

// beforeEffect applies the part of a fault that comes before the call is carried out.
func (s *Server) beforeEffect(ctx context.Context, f Fault, c *Call) {
	if f.HangUntil != nil {
		select {
		case <-f.HangUntil:
		case <-ctx.Done():
			s.abortConnection(c)
		case <-s.closed:
			s.abortConnection(c)
		}
	}
	if f.CutBefore {
		s.abortConnection(c)
	}
}

// delayResponse waits for the delay of a fault.
func (s *Server) delayResponse(ctx context.Context, f Fault) {
	if f.ResponseDelay <= 0 {
		return
	}
	select {
	case <-time.After(f.ResponseDelay):
	case <-ctx.Done():
	case <-s.closed:
	}
}

// writeError writes the error response of a fault.
func (f Fault) writeError(w http.ResponseWriter) {
	if f.Body != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return
	}
	writeAnswer(w, nil, &apiError{
		status: f.Status, text: cmp.Or(f.Description, http.StatusText(f.Status)),
		retryAfter: f.RetryAfter, migrateTo: f.MigrateTo,
	})
}
