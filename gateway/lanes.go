package gateway

import (
	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/lanes"
	"nanobot/gateway/turn"
)

// chatLanes are the lanes as intake sees them.
type chatLanes struct{ *lanes.Lanes[*turn.Turn] }

var _ intake.Lanes = chatLanes{}

// Running returns the turn that runs in a chat, or nil.
func (l chatLanes) Running(chat channels.Chat) intake.Turn {
	if t, ok := l.Lanes.RunningTurn(chat); ok {
		return t
	}
	return nil
}

// All returns the turns that run.
func (l chatLanes) All() []intake.Turn {
	var all []intake.Turn
	for _, t := range l.Lanes.RunningTurns() {
		all = append(all, t)
	}
	return all
}
