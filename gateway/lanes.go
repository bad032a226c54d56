package gateway

import (
	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/lanes"
	"nanobot/gateway/turn"
)

// chatLanes adapts Lanes to the interface that intake needs.
type chatLanes struct{ *lanes.Lanes[*turn.Turn] }

var _ intake.Lanes = chatLanes{}

// RunningTurn returns the running turn of a chat, or nil.
func (l chatLanes) RunningTurn(chat channels.Chat) intake.Turn {
	if t, ok := l.Lanes.RunningTurn(chat); ok {
		return t
	}
	return nil
}
