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

// React shows a reaction to a message. The press of a button is no message of the network, nor is
// one that nobody has typed.
func React(box Outbox, in channels.Incoming, r channels.Reaction) {
	if isMessage(in) {
		box.React(in.Chat, in.ID, r)
	}
}

func isMessage(in channels.Incoming) bool {
	return in.Press == "" && !in.Pressed && in.Origin == channels.Person
}

// ending is how an ended turn is marked: its folded board, and its message by a reaction.
type ending struct {
	mark     string
	reaction channels.Reaction
}

// endings are the marks of all ways in which a turn ends. A turn that a person has ended has no
// outcome to show as a reaction.
var endings = map[terminal.Status]ending{
	terminal.Done:     {"✓", channels.Finished},
	terminal.Failed:   {"✗", channels.Broken},
	terminal.TimedOut: {"✗", channels.Broken},
	terminal.Stopped:  {"⏹", channels.NoReaction},
	terminal.Refused:  {"🚫", channels.NoReaction},
	terminal.Silent:   {"–", channels.NoReaction},
	store.Revoked:     {"⏹", channels.NoReaction},
	store.OverQuota:   {"✗", channels.Broken},
}

// ReactToEnd shows how the turn has ended, when its answers were sent.
func (d *Display) ReactToEnd(status terminal.Status) {
	if in := d.o.Inbound.In; isMessage(in) {
		d.o.Outbox.ReactWhenSent(in.Chat, in.ID, d.o.Inbound.ID, endings[status].reaction)
	}
}

// EndReaction returns the reaction that shows how the turn of a message has ended. It reports false
// if the turn has not ended, or was interrupted: that is shown when it is recovered.
func EndReaction(inbound store.Inbound) (channels.Reaction, bool) {
	end, ok := endings[terminal.Status(inbound.Outcome.Status)]
	return end.reaction, ok && inbound.State == store.Done && isMessage(inbound.In)
}
