package main

import (
	"slices"
	"strings"
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

// findButton returns the newest message, or the one with an ID, that shows the button that a person
// means by its data or its label.
func findButton[M any](
	shown []M, a action, describe func(M) (id string, buttons []sentButton),
) (in, data string, ok bool) {
	for _, m := range slices.Backward(shown) {
		in, buttons := describe(m)
		if a.Message != "" && string(a.Message) != in {
			continue
		}
		for _, b := range buttons {
			if b.Data != "" && (a.Button == b.Data || strings.EqualFold(a.Button, b.Text)) {
				return in, b.Data, true
			}
		}
	}
	return "", "", false
}
