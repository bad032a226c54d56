package telegramtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Download is the name of file downloads in Call.Method and FailNext.
const Download = "download"

// Call is one request of the bot.
type Call struct {
	ID          int // in the order of arrival, from 1
	Method      string
	Params      map[string]string // strings unquoted, everything else as JSON
	Uploads     []Upload
	At          time.Time
	Done        bool   // the response was sent
	Status      int    // of the response; 0 if the connection was cut
	Description string // of the error
	Messages    []int  // IDs of the messages that it has sent
}

// Upload is one file in a request.
type Upload struct {
	Field   string // name of the part: a parameter, or the name after attach://
	Name    string
	MIME    string
	Content []byte
}

// IntParam returns the value of a numeric parameter, or 0.
func (c Call) IntParam(name string) int64 {
	n, _ := strconv.ParseInt(c.Params[name], 10, 64)
	return n
}

// DecodeParam decodes the value of a JSON parameter.
func (c Call) DecodeParam(name string, v any) error {
	if err := json.Unmarshal([]byte(c.Params[name]), v); err != nil {
		return fmt.Errorf("%s of %s: %w", name, c.Method, err)
	}
	return nil
}

func (c Call) has(name string) bool { return c.Params[name] != "" }

func (c Call) flag(name string) bool {
	b, _ := strconv.ParseBool(c.Params[name])
	return b
}

// Calls returns the calls of a method so far, in order. "" means all methods.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callsOf(method)
}

func (s *Server) callsOf(method string) (out []Call) {
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			copied := *c
			copied.Messages = slices.Clone(c.Messages)
			out = append(out, copied)
		}
	}
	return out
}

// AwaitCalls waits until enough reports true for the calls of a method, and returns the calls. It
// reports false after the timeout.
func (s *Server) AwaitCalls(method string, timeout time.Duration, enough func([]Call) bool) (calls []Call, ok bool) {
	ok = s.awaitFor(timeout, func() bool { calls = s.callsOf(method); return enough(calls) })
	return calls, ok
}
