package channels

import (
	"fmt"
	"strings"
)

// Button is a choice under a message. A press arrives as an Incoming with Press set to Data. A
// channel without buttons omits them, since the text also says what to type.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"` // at most 64 bytes, Telegram's limit; 63 if Stays is set
	// Stays means that the button can be pressed repeatedly: a press does not remove the buttons.
	Stays bool `json:"stays,omitempty"`
	// Private means that only the person who presses the button sees the answer, where the network
	// can do that. Such a button stays.
	Private bool `json:"private,omitempty"`
	// Role is what a press does, for channels that show such buttons in their own way.
	Role Role `json:"role,omitempty"`
}

// Role is what a press of a button does.
type Role string

// The roles of buttons; most have none.
const (
	Answers Role = "answer" // it answers a question
	Stops   Role = "stop"   // it stops the running turn
)

// The marks of a button's properties before its data. Buttons of earlier versions have them, too.
const (
	staysMark   = "+"
	privateMark = staysMark + "details:"
)

// Encode returns the data of the button with its properties, for networks that return nothing else
// with a press.
func (b Button) Encode() string {
	switch {
	case b.Private:
		return privateMark + b.Data
	case b.Stays:
		return staysMark + b.Data
	}
	return b.Data
}

// DecodeButton returns a button, without its label, of which a network has returned what Encode has
// made.
func DecodeButton(data string) Button {
	if data, ok := strings.CutPrefix(data, privateMark); ok {
		return Button{Data: data, Stays: true, Private: true}
	}
	data, stays := strings.CutPrefix(data, staysMark)
	return Button{Data: data, Stays: stays}
}

// CheckButtons returns an error if the encoded data of a button has more bytes than the network
// allows.
func CheckButtons(buttons []Button, limit int) error {
	for _, b := range buttons {
		if n := len(b.Encode()); n > limit {
			return fmt.Errorf("button %q carries %d bytes, more than %d", b.Label, n, limit)
		}
	}
	return nil
}

// pressMark distinguishes the ID of a press from the ID of a message.
const pressMark = "press-"

// PressID returns the ID of an incoming message that is a press, by an ID of the press.
func PressID(id string) string { return pressMark + id }

// ParsePressID returns the ID of a press. It reports false for the ID of a message.
func ParsePressID(id string) (string, bool) { return strings.CutPrefix(id, pressMark) }
