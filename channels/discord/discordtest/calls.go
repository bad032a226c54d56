package discordtest

import (
	"encoding/json"
	"net/url"

	"nanobot/channels/channelstest/fakenet"
)

// Call is one request of the bot.
type Call struct {
	fakenet.Call
	Route   string            // one of the constants, such as CreateMessage
	Args    map[string]string // path parameters, such as channel_id
	Query   url.Values
	Body    json.RawMessage
	Files   []Upload
	Code    int    // of the error
	Message string // ID of the message that was created, edited or deleted

	auth   string
	agent  string
	fields map[string]json.RawMessage // of a body that is a JSON object
}

// CallName returns the route.
func (c *Call) CallName() string { return c.Route }

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

// InvalidRequests returns the number of responses with 401, 403 or 429, except 429 with the scope
// shared. Discord bans an address that makes 10,000 such requests in 10 minutes.
func (s *Server) InvalidRequests() int {
	s.Lock()
	defer s.Unlock()
	return s.invalidRequests
}
