package display

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// freshMessage is the age up to which the start of a turn is shown as a reaction to its message.
// After a long downtime, a backlog of old messages gets none.
const freshMessage = 10 * time.Minute

// ReactToStart shows that the turn works on the message, where the channel uses reactions.
func (d *Display) ReactToStart() {
	if d.o.Inbound.Started.Sub(d.o.Inbound.Received) <= freshMessage {
		React(d.o.Outbox, d.o.Inbound.In, channels.Taken)
	}
}

// React shows a reaction to a message. The press of a button is no message.
func React(box Outbox, in channels.Incoming, r channels.Reaction) {
	if in.Press == "" && !in.Pressed {
		box.React(in.Chat, in.ID, r)
	}
}

// ReactToEnd shows how the turn has ended. A turn that a person has ended has no outcome to show.
func (d *Display) ReactToEnd(state store.State, status string) {
	r := channels.Broken
	switch {
	case status == string(terminal.Done):
		r = channels.Finished
	case status == string(terminal.Stopped) && state == store.Done, status == store.Revoked:
		r = channels.NoReaction
	}
	React(d.o.Outbox, d.o.Inbound.In, r)
}
