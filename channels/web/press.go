package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"nanobot/channels"
	"nanobot/channels/web/history"
)

// maxPressBody bounds the body of a request, in bytes.
const maxPressBody = 16 << 10

// CloseQuestion shows the outcome of a question instead of its buttons.
func (c *Channel) CloseQuestion(ctx context.Context, chat channels.Chat, id, outcome string) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	err = h.CloseQuestion(ctx, chat.ID, id, plainText(outcome))
	if errors.Is(err, history.ErrNoMessage) {
		return &channels.SendError{Err: err, Permanent: true}
	}
	return err
}

// postPress presses a button of a stored message, which is possible once, or of a transient
// message. A button that stays can be pressed repeatedly.
func (c *Channel) postPress(w http.ResponseWriter, r *http.Request) error {
	h, chat, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	var press struct {
		Message string `json:"message"`
		Data    string `json:"data"`
		Room    string `json:"room"` // as of a message
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPressBody)).Decode(&press); err != nil {
		return badRequest("The request cannot be read: %v.", err)
	}
	if press.Room != "" && !isRoom(press.Room) {
		return badRoom
	}
	actor := c.requester(r)
	d := history.NewEvent{
		Chat: chat, Actor: actor, Type: history.Pressed, ID: press.Message, ForGateway: true,
		Body: history.Body{
			User: actor.User, Language: requestLanguage(r), Data: press.Data, FittingSize: press.Room,
			Press: channels.PressID(newID()),
		},
	}
	var e history.Event
	d.MaxWaiting = maxWaiting
	buttons := c.hub.findTransient(transientID{chat, press.Message}).buttons
	if at := slices.IndexFunc(buttons, func(b channels.Button) bool { return b.Data == press.Data }); at >= 0 {
		if !buttons[at].Stays {
			d.Key = "press " + chat + " " + press.Message + " " + press.Data // a repetition is the same press
		}
		e, _, err = h.Append(r.Context(), d)
	} else {
		e, err = h.Press(r.Context(), d)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, postResponse{e.ID, e.Seq})
	return nil
}
