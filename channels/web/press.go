package web

import (
	"encoding/json"
	"net/http"

	"nanobot/channels/web/history"
)

// maxPress bounds the body of a press.
const maxPress = 16 << 10

// pressPrefix keeps the ids of presses apart from those of messages.
const pressPrefix = "press-"

// postPress presses a button: under a message, which can be done once, or under a bubble that is
// shown. A button that stays can be pressed as often as one likes.
func (c *Channel) postPress(w http.ResponseWriter, r *http.Request) error {
	h, chat, err := c.chat(r)
	if err != nil {
		return err
	}
	var press struct {
		Message string `json:"message"`
		Data    string `json:"data"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPress)).Decode(&press); err != nil {
		return wrong("The request cannot be read: %v.", err)
	}
	party := c.party(r)
	d := history.Draft{
		Chat: chat, By: party, Type: history.Pressed, ID: press.Message, Waits: true,
		Body: history.Body{User: party.User, Data: press.Data, Press: pressPrefix + newID()},
	}
	var e history.Event
	d.Most = maxWaiting
	if b, ok := c.hub.button(bubbleID{chat, press.Message}, press.Data); ok {
		if !b.Stays {
			d.Key = "press " + chat + " " + press.Message + " " + press.Data // again is the same press
		}
		e, _, err = h.Append(r.Context(), d)
	} else {
		e, err = h.Press(r.Context(), d)
	}
	if err != nil {
		return err
	}
	answer(w, http.StatusAccepted, receipt{e.ID, e.Seq})
	return nil
}
