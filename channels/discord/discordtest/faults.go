package discordtest

import (
	"cmp"
	"net/http"
	"time"
)

// Fault is a failure of a call. The zero Fault lets the call succeed.
type Fault struct {
	Status        int // respond with this status and do not carry out the call
	Code          int
	Message       string
	Body          string // replaces the response; without a Status the call is carried out
	RetryAfter    time.Duration
	Global        bool
	Scope         string // of a 429: user (the default), global or shared
	CutBefore     bool   // cut the connection, do not carry out the call
	CutAfter      bool   // carry out the call, then cut the connection
	HangUntil     <-chan struct{}
	ResponseDelay time.Duration // delay between carrying out the call and the response
}

// RateLimited is a 429 for the call's bucket.
func RateLimited(after time.Duration) Fault {
	return Fault{Status: http.StatusTooManyRequests, RetryAfter: after}
}

// GloballyRateLimited is a 429 for the whole bot.
func GloballyRateLimited(after time.Duration) Fault {
	return Fault{Status: http.StatusTooManyRequests, RetryAfter: after, Global: true, Scope: "global"}
}

// BadGateway is a 502 with the page of a proxy.
func BadGateway() Fault {
	return Fault{Status: http.StatusBadGateway, Body: "<html><head><title>502 Bad Gateway</title></head>" +
		"<body><center><h1>502 Bad Gateway</h1></center><hr><center>cloudflare</center></body></html>"}
}

// ErrorResponse is an error of Discord, such as 403 with code 50013, Missing Permissions.
func ErrorResponse(status, code int, message string) Fault {
	return Fault{Status: status, Code: code, Message: message}
}

// TruncatedJSON carries out the call and responds with half a JSON object.
func TruncatedJSON() Fault { return Fault{Body: `{"id":"12`} }

// FailNext queues faults for the next calls of a route, or of any route for "". A zero Fault lets a
// call succeed.
func (s *Server) FailNext(route string, faults ...Fault) {
	s.update(func() { s.queuedFaults[route] = append(s.queuedFaults[route], faults...) })
}

// SetFault sets a function that returns the fault of each call; nil means no faults. Faults queued
// by FailNext come first. The function may block.
func (s *Server) SetFault(f func(Call) Fault) { s.update(func() { s.faultFunc = f }) }

// nextFault returns the next fault queued for the call's route, else the next one queued for any
// route, else the result of the test's function.
func (s *Server) nextFault(c *Call) Fault {
	s.mu.Lock()
	ask := s.faultFunc
	for _, route := range []string{c.Route, ""} {
		if q := s.queuedFaults[route]; len(q) > 0 {
			s.queuedFaults[route] = q[1:]
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
func (s *Server) beforeEffect(r *http.Request, f Fault, c *Call) {
	if f.HangUntil != nil {
		select {
		case <-f.HangUntil:
		case <-r.Context().Done():
			s.abortConnection(c)
		case <-s.closed:
			s.abortConnection(c)
		}
	}
	if f.CutBefore {
		s.abortConnection(c)
	}
}

// afterEffect applies the part of a fault that comes between carrying out the call and the
// response.
func (s *Server) afterEffect(r *http.Request, f Fault, c *Call) {
	if f.ResponseDelay > 0 {
		select {
		case <-time.After(f.ResponseDelay):
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	if f.CutAfter {
		s.abortConnection(c)
	}
}

// toError returns the error of a fault with a status.
func (f Fault) toError() *apiError {
	return &apiError{
		status: f.Status, code: f.Code, text: cmp.Or(f.Message, http.StatusText(f.Status)), body: f.Body,
		retry: f.RetryAfter, global: f.Global, scope: cmp.Or(f.Scope, "user"),
	}
}

// abortConnection cuts the connection.
func (s *Server) abortConnection(c *Call) {
	s.update(func() { c.Done = true })
	panic(http.ErrAbortHandler)
}
