package discordtest

import (
	"encoding/json"
	"net/url"
	"time"
)

// Call is one request of the bot.
type Call struct {
	ID      int               // in the order of arrival, from 1
	Route   string            // one of the constants, such as CreateMessage
	Args    map[string]string // path parameters, such as channel_id
	Query   url.Values
	Body    json.RawMessage
	Files   []Upload
	At      time.Time
	Done    bool   // the response was sent
	Status  int    // of the response; 0 if the connection was cut
	Code    int    // of the error
	Message string // ID of the message that was created, edited or deleted

	auth   string
	agent  string
	fields map[string]json.RawMessage // of a body that is a JSON object
}

// Upload is one file in a request.
type Upload struct {
	Field   string // files[0] …
	Name    string
	Type    string
	Content []byte
}

// has reports whether the body has a field, even if its value is null.
func (c *Call) has(field string) bool {
	_, ok := c.fields[field]
	return ok
}

// Calls returns the calls of a route so far, in order. "" means all routes.
func (s *Server) Calls(route string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callsOf(route)
}

func (s *Server) callsOf(route string) (out []Call) {
	for _, c := range s.calls {
		if route == "" || c.Route == route {
			out = append(out, *c)
		}
	}
	return out
}

// AwaitCalls waits until enough reports true for the calls of a route, and returns the calls. It
// reports false after the timeout.
func (s *Server) AwaitCalls(route string, timeout time.Duration, enough func([]Call) bool) (calls []Call, ok bool) {
	ok = s.await(timeout, func() bool { calls = s.callsOf(route); return enough(calls) })
	return calls, ok
}

// InvalidRequests returns the number of responses with 401, 403 or 429, except 429 with the scope
// shared. Discord bans an address that makes 10,000 such requests in 10 minutes.
func (s *Server) InvalidRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.invalidRequests
}
