package main

import (
	"cmp"
	"slices"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// sentCall is a call with which the bot has sent or changed something.
type sentCall struct {
	N      int       `json:"n"` // in the order in which calls ended; other calls leave gaps
	At     time.Time `json:"at"`
	Method string    `json:"method"`
	Status int       `json:"status"` // of the response; 0 if the connection was cut
	Error  string    `json:"error,omitempty"`
	// What the chat shows of it. An edit and a deletion have the message that they change.
	Chat     string       `json:"chat"`
	Messages []string     `json:"messages"`
	Text     string       `json:"text"`
	Buttons  []sentButton `json:"buttons"`
	Files    []sentFile   `json:"files"`
	Params   any          `json:"params"` // as the bot has sent them
}

type sentButton struct {
	Text string `json:"text"`
	Data string `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
}

type sentFile struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content []byte `json:"content"`
}

// newSentCall returns a call with the fields that calls of all networks have.
func newSentCall(method string, c fakenet.Call, chat string) sentCall {
	return sentCall{
		N: c.Ended, At: c.At.UTC(), Method: method, Status: c.Status, Chat: chat,
		Messages: []string{}, Buttons: []sentButton{}, Files: []sentFile{},
	}
}

// call is a pointer to a network's call.
type call[C any] interface {
	*C
	Header() *fakenet.Call
	CallName() string
}

// endedCalls returns the calls that ended after the one with a number and that list accepts, in the
// order in which they ended.
func endedCalls[C any, P call[C]](calls []C, after int, list func(method string) bool) (out []P) {
	for i := range calls {
		if c := P(&calls[i]); c.Header().Ended > after && list(c.CallName()) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b P) int { return cmp.Compare(a.Header().Ended, b.Header().Ended) })
	return out
}
