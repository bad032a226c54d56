package discord

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"nanobot/channels/httpclient"
)

// mostPeople bounds how many direct conversations are opened to look into them. Who opens many
// looks like spam.
const mostPeople = 25

// lookUp looks for what people may have said to us in direct conversations that we have not heard
// of.
func (in *intake) lookUp(ctx context.Context) {
	n := 0
	for _, p := range in.c.o.People {
		id := parseFlake(p)
		if id == 0 || n == mostPeople {
			continue
		}
		n++
		in.opening++
		from := in.from
		in.aside(ctx, func() func() {
			dm := in.c.conversation(ctx, id)
			return func() {
				in.opening--
				if dm.ID != 0 && dm.Last > from {
					in.recall(dm.ID, false, from)
				}
			}
		})
	}
}

// conversation returns the direct conversation with a user. One that cannot be had is nothing.
func (c *Channel) conversation(ctx context.Context, id flake) place {
	pause := c.newRetrier("direct conversation not found, will retry")
	for {
		var p place
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.api.call(call, route{name: openDM}, &p, func(l library) (any, error) {
			return l.UserChannelCreate(id.String(), l.options...)
		})
		cancel()
		var no *refusal
		switch {
		case err == nil:
			return p
		case errors.As(err, &no) && no.final():
			c.log.Debug("no direct conversation", zap.Stringer("user", id), zap.Error(err))
			return place{}
		case ctx.Err() != nil || !httpclient.Sleep(ctx, pause.Next(err)):
			return place{}
		}
	}
}
