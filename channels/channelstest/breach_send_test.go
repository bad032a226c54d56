package channelstest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
)

const cancelledSend = "a cancelled Send sends nothing and may be repeated"

var sendBreaches = []breach{
	{
		name:  "Send ignores its context",
		fails: []string{cancelledSend},
		build: replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
			return f.Send(context.WithoutCancel(ctx), o)
		}),
	},
	{
		name:  "Send reports a cancelled call as done",
		fails: []string{cancelledSend},
		build: replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
			receipt, err := f.Send(ctx, o)
			if errors.Is(err, context.Canceled) {
				err = nil
			}
			return receipt, err
		}),
	},
	{
		name:  "Send reports a cancelled call as permanently refused",
		fails: []string{cancelledSend},
		build: replaceSend(withSendError(channels.SendError{Permanent: true})),
	},
	{
		name:  "Send reports a cancelled call as unknown",
		fails: []string{cancelledSend},
		build: replaceSend(withSendError(channels.SendError{Unknown: true})),
	},
	{
		name:  "Send hangs when it is cancelled",
		fails: []string{cancelledSend},
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			over := closedAtCleanup(t)
			return replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
				if ctx.Err() != nil {
					<-over
				}
				return f.Send(ctx, o)
			})(t, f)
		},
	},
	{
		name:  "Send returns no receipt",
		fails: []string{"each Send has a receipt of its own"},
		build: replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
			_, err := f.Send(ctx, o)
			return channels.Receipt{}, err
		}),
	},
	{
		name:  "Send returns the same receipt for the same text",
		fails: []string{"each Send has a receipt of its own"},
		build: replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
			_, err := f.Send(ctx, o)
			return channels.Receipt{ID: o.Text}, err
		}),
	},
	{
		name:  "Send loses messages that are sent at the same time",
		fails: []string{"Send may be called from many goroutines"},
		build: func(t *testing.T, f fakeChannel) channels.Channel {
			var busy atomic.Int64
			return replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
				defer busy.Add(-1)
				if busy.Add(1) > 1 {
					return channels.Receipt{ID: "lost"}, nil
				}
				time.Sleep(time.Millisecond) // in the synctest bubble this lasts until all other goroutines wait
				return f.Send(ctx, o)
			})(t, f)
		},
	},
}

// withSendError returns a Send that wraps the error of a cancelled call in e.
func withSendError(e channels.SendError) func(context.Context, fakeChannel, channels.Outgoing) (channels.Receipt, error) {
	return func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
		receipt, err := f.Send(ctx, o)
		if errors.Is(err, context.Canceled) {
			e.Err = err
			err = &e
		}
		return receipt, err
	}
}
