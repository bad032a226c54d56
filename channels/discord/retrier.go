package discord

import (
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

func (c *Channel) newRetrier(what string) *httpclient.Retrier {
	return httpclient.NewRetrier(c.log, what, c.o.Timing.Pause, waitOf)
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
