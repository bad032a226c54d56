package telegramtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Download is the method name under which faults and calls know the download of a file.
const Download = "download"

// Call is one request of the bot.
type Call struct {
	ID          int // from 1, in the order in which the requests arrived
	Method      string
	Params      map[string]string // strings as they are, everything else as JSON
	Uploads     []Upload
	At          time.Time
	Done        bool   // it was answered
	Status      int    // of the answer; 0 if the connection was cut
	Description string // of an error
	Messages    []int  // the messages it sent
}

// Upload is one file in a request.
type Upload struct {
	Field   string // the part's name: a parameter, or what attach:// refers to
	Name    string
	MIME    string
	Content []byte
}

// IntParam returns a parameter that is a number, or 0.
func (c Call) IntParam(name string) int64 {
	n, _ := strconv.ParseInt(c.Params[name], 10, 64)
	return n
}

// DecodeParam decodes a parameter that is JSON.
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

// Calls returns the requests so far, in order, of one method or of all for "".
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

// AwaitCalls waits until the requests of a method satisfy a condition, and returns them. It reports
// false when that takes longer than patience.
func (s *Server) AwaitCalls(method string, patience time.Duration, enough func([]Call) bool) (calls []Call, ok bool) {
	ok = s.awaitFor(patience, func() bool { calls = s.callsOf(method); return enough(calls) })
	return calls, ok
}
