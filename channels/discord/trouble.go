package discord

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"nanobot/channels"
)

// trouble waits between tries, longer each time, and logs when the error changes.
type trouble struct {
	log   *zap.Logger
	what  string
	last  string
	pause *backoff.ExponentialBackOff
}

func (c *Channel) newTrouble(what string) *trouble {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = c.o.Timing.Pause, 60*c.o.Timing.Pause
	return &trouble{log: c.log, what: what, pause: pause}
}

// next is how long to wait before the next try.
func (t *trouble) next(err error) time.Duration {
	d := max(t.pause.NextBackOff(), waitOf(err))
	if err.Error() != t.last {
		t.last = err.Error()
		t.log.Warn(t.what, zap.Duration("after", d), zap.Error(err))
	}
	return d
}

func (t *trouble) over() {
	t.last = ""
	t.pause.Reset()
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

// sleep waits and reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
