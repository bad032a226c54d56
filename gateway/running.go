package gateway

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/lanes"
	"nanobot/gateway/store"
)

// chatLanes are the lanes as intake sees them.
type chatLanes struct{ *lanes.Lanes[*turn] }

var _ intake.Lanes = chatLanes{}

// Running returns the turn that runs in a chat, or nil.
func (l chatLanes) Running(chat channels.Chat) intake.Turn {
	if t, ok := l.Lanes.Running(chat); ok {
		return t
	}
	return nil
}

// All returns the turns that run.
func (l chatLanes) All() []intake.Turn {
	var all []intake.Turn
	for _, t := range l.Lanes.All() {
		all = append(all, t)
	}
	return all
}

// Drop gives back what the turn was given for a run that does not come.
func (t *turn) Drop() {
	t.cancel(nil)
	t.leave(nil)
	t.end()
	t.done()
}

// Item is the message that the turn works on.
func (t *turn) Item() store.Item { return t.item }

// Began is when the turn began.
func (t *turn) Began() time.Time { return t.began }

// Cancel ends the turn.
func (t *turn) Cancel(cause error) { t.cancel(cause) }

// Revoke ends the turn of a person who has lost access.
func (t *turn) Revoke() { t.revoke() }

// Forget calls do, which has the chat start afresh on disk.
func (t *turn) Forget(do func() error) error { return t.memory.forget(do) }

// Inject hands a message to the agent that runs, if it takes it.
func (t *turn) Inject(item store.Item) { t.add(item) }

// Injected counts the messages that the agent was handed.
func (t *turn) Injected() int { return t.handed() }

// Injectors are the people whose messages the agent has not read yet.
func (t *turn) Injectors() []string { return t.injectors() }

// TakeBack withdraws the messages of a person that the agent has not read yet.
func (t *turn) TakeBack(user string) { t.takeBack(user) }
