package turn

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// freshMessage is the age up to which the start of a turn is shown as a reaction to its message.
// After a long downtime, a backlog of old messages gets none.
const freshMessage = 10 * time.Minute

// reactToStart shows that the turn works on the message, where the channel uses reactions.
func (t *Turn) reactToStart() {
	if t.inbound.Started.Sub(t.inbound.Received) <= freshMessage {
		t.react(channels.Taken)
	}
}

// react shows a reaction to the message of the turn.
func (t *Turn) react(r channels.Reaction) { t.stage.react(t.inbound.In, r) }

// react shows a reaction to a message. The press of a button is no message.
func (s *Stage) react(in channels.Incoming, r channels.Reaction) {
	if in.Press == "" && !in.Pressed {
		s.o.Outbox.React(in.Chat, in.ID, r)
	}
}

// reactToEnd shows how the turn has ended. A turn that a person has ended has no outcome to show.
func (t *Turn) reactToEnd(state store.State, status string) {
	r := channels.Broken
	switch {
	case status == string(terminal.Done):
		r = channels.Finished
	case status == string(terminal.Stopped) && state == store.Done, status == store.Revoked:
		r = channels.NoReaction
	}
	t.react(r)
}
