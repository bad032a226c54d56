package discord

import (
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

func (c *Channel) newRetrier(what string) *httpclient.Retrier {
	return httpclient.NewRetrier(c.log, what, c.o.Timing.Pause, retryAfter)
}

// retryAfter returns the delay that an error demands.
func retryAfter(err error) time.Duration {
	var apiErr *apiError
	var se *channels.SendError
	switch {
	case errors.As(err, &apiErr):
		return apiErr.RetryAfter
	case errors.As(err, &se):
		return se.After
	}
	return 0
}
