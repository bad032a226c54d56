package discord

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// eventsAtOnce is how many events wait to be looked at before no more are read. Discord keeps the
// rest for us.
const eventsAtOnce = 1024

// Run keeps a connection to the gateway until ctx ends. It returns an error only if Discord does
// not let us in, and says then what to change. A Run after that waits for a while first: sessions
// are counted, and the token of a bot that begins too many is taken away.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	if ctx.Err() != nil {
		return nil
	}
	if wait := time.Until(c.refused.Add(c.o.Timing.Refused)); !c.refused.IsZero() && wait > 0 && !httpclient.Sleep(ctx, wait) {
		return nil
	}
	defer c.api.http.CloseIdleConnections()
	events := make(chan event, eventsAtOnce)
	in := newIntake(c, receive, events)
	s := &session{c: c, events: events}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return s.run(ctx) })
	work.Go(func() error { in.run(ctx); return nil })
	err := work.Wait()
	if err != nil {
		c.refused = time.Now()
	}
	return err
}
