package discord

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// maxQueuedEvents bounds the events that wait to be processed before reading stops. Discord buffers
// the rest.
const maxQueuedEvents = 1024

// Run stays connected to the gateway until ctx ends. It returns an error only if Discord refuses
// the bot permanently; the error says what to change. The next Run then waits first, because
// Discord counts sessions and revokes the token of a bot that starts too many.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	if ctx.Err() != nil {
		return nil
	}
	if wait := time.Until(c.refusedAt.Add(c.o.Timing.Refused)); !c.refusedAt.IsZero() && wait > 0 &&
		!httpclient.Sleep(ctx, wait) {
		return nil
	}
	defer c.api.http.CloseIdleConnections()
	events := make(chan event, maxQueuedEvents)
	in := newReceiver(c, receive, events)
	s := &session{c: c, events: events}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return s.run(ctx) })
	work.Go(func() error { in.run(ctx); return nil })
	err := work.Wait()
	if err != nil {
		c.refusedAt = time.Now()
	}
	return err
}
