package discord

import (
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/channels/remote"
)

func (c *Channel) newTrouble(what string) *remote.Trouble {
	return remote.NewTrouble(c.log, what, c.o.Timing.Pause, waitOf)
}

// waitOf is how long an error asks to wait.
func waitOf(err error) time.Duration {
	var no *refusal
	var se *channels.SendError
	switch {
	case errors.As(err, &no):
		return no.After
	case errors.As(err, &se):
		return se.After
	}
	return 0
}
