package discordtest

import (
	"cmp"
	"net/http"
	"time"
)

// Fault is how a call goes wrong. The zero Fault lets it pass.
type Fault struct {
	Status        int // in place of the effect
	Code          int
	Message       string
	Body          string // in place of the answer; with a Status also in place of the effect
	RetryAfter    time.Duration
	Global        bool
	Scope         string // of a 429: user (the default), global or shared
	CutBefore     bool   // the connection is cut and nothing happens
	CutAfter      bool   // what was asked is done and the connection is cut
	HangUntil     <-chan struct{}
	ResponseDelay time.Duration // between the effect and the answer
}

// RateLimited is 429 for this bucket.
func RateLimited(after time.Duration) Fault {
	return Fault{Status: http.StatusTooManyRequests, RetryAfter: after}
}

// GloballyRateLimited is 429 for the whole bot.
func GloballyRateLimited(after time.Duration) Fault {
	return Fault{Status: http.StatusTooManyRequests, RetryAfter: after, Global: true, Scope: "global"}
}

// BadGateway is 502 with the page a proxy answers with.
func BadGateway() Fault {
	return Fault{Status: http.StatusBadGateway, Body: "<html><head><title>502 Bad Gateway</title></head>" +
		"<body><center><h1>502 Bad Gateway</h1></center><hr><center>cloudflare</center></body></html>"}
}

// ErrorResponse is an error of Discord's, such as 403 with code 50013, Missing Permissions.
func ErrorResponse(status, code int, message string) Fault {
	return Fault{Status: status, Code: code, Message: message}
}

// TruncatedJSON does what was asked and answers with half a JSON object.
func TruncatedJSON() Fault { return Fault{Body: `{"id":"12`} }

// FailNext queues faults for the next calls of a route, or of any for "". A zero Fault lets a call
// pass.
func (s *Server) FailNext(route string, faults ...Fault) {
	s.update(func() { s.queued[route] = append(s.queued[route], faults...) })
}

// SetFault has every call asked about; nil asks about none. The queue of FailNext goes first. The
// function may block.
func (s *Server) SetFault(f func(Call) Fault) { s.update(func() { s.fault = f }) }

// nextFault takes what is queued for a call's route, then for any, then what the test's function
// says.
func (s *Server) nextFault(c *Call) Fault {
	s.mu.Lock()
	ask := s.fault
	for _, route := range []string{c.Route, ""} {
		if q := s.queued[route]; len(q) > 0 {
			s.queued[route] = q[1:]
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
func (s *Server) before(r *http.Request, f Fault, c *Call) {
	if f.HangUntil != nil {
		select {
		case <-f.HangUntil:
		case <-r.Context().Done():
			s.abort(c)
		case <-s.closed:
			s.abort(c)
		}
	}
	if f.CutBefore {
		s.abort(c)
	}
}

// after does the part that comes between the effect and the answer.
func (s *Server) after(r *http.Request, f Fault, c *Call) {
	if f.ResponseDelay > 0 {
		select {
		case <-time.After(f.ResponseDelay):
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	if f.CutAfter {
		s.abort(c)
	}
}

// refusal is what a fault with a status answers.
func (f Fault) refusal() *refusal {
	return &refusal{
		status: f.Status, code: f.Code, text: cmp.Or(f.Message, http.StatusText(f.Status)), body: f.Body,
		retry: f.RetryAfter, global: f.Global, scope: cmp.Or(f.Scope, "user"),
	}
}

// abort cuts the connection.
func (s *Server) abort(c *Call) {
	s.update(func() { c.Done = true })
	panic(http.ErrAbortHandler)
}
