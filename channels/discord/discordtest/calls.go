package discordtest

import (
	"encoding/json"
	"net/url"
	"time"
)

// Call is one request of the bot.
type Call struct {
	ID      int               // from 1, in the order in which the requests arrived
	Route   string            // as in Discord's OpenAPI, such as CreateMessage
	Args    map[string]string // channel_id, message_id …
	Query   url.Values
	Body    json.RawMessage
	Files   []Upload
	At      time.Time
	Done    bool   // it was answered
	Status  int    // of the answer; 0 if the connection was cut
	Code    int    // of an error
	Message string // the id of the message that it made, changed or deleted

	auth   string
	agent  string
	fields map[string]json.RawMessage // of a body that is an object
}

// Upload is one file in a request.
type Upload struct {
	Field   string // files[0] …
	Name    string
	Type    string
	Content []byte
}

// has tells whether the body has a field, be it null.
func (c *Call) has(field string) bool {
	_, ok := c.fields[field]
	return ok
}

// Calls returns the requests so far, in order, of one route or of all for "".
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

// AwaitCalls waits until the requests of a route satisfy a condition, and returns them. It reports
// false when that takes longer than patience.
func (s *Server) AwaitCalls(route string, patience time.Duration, enough func([]Call) bool) (calls []Call, ok bool) {
	ok = s.await(patience, func() bool { calls = s.callsOf(route); return enough(calls) })
	return calls, ok
}

// InvalidRequests returns how many requests were answered with 401, 403 or 429, but for a 429 of
// the scope shared. Discord bans an address that makes 10,000 of them in 10 minutes.
func (s *Server) InvalidRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.invalid
}
