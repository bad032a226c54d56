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
		bend: resend(func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error) {
			return f.Send(context.WithoutCancel(ctx), o)
		}),
	},
	{
		name:  "Send reports a cancelled call as done",
		fails: []string{cancelledSend},
		bend: resend(func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error) {
			receipt, err := f.Send(ctx, o)
			if errors.Is(err, context.Canceled) {
				err = nil
			}
			return receipt, err
		}),
	},
	{
		name:  "Send calls a cancelled call refused for good",
		fails: []string{cancelledSend},
		bend:  resend(judge(channels.SendError{Permanent: true})),
	},
	{
		name:  "Send calls a cancelled call in doubt",
		fails: []string{cancelledSend},
		bend:  resend(judge(channels.SendError{Unknown: true})),
	},
	{
		name:  "Send hangs when it is cancelled",
		fails: []string{cancelledSend},
		bend: func(t *testing.T, f fake) channels.Channel {
			over := untilCleanup(t)
			return resend(func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error) {
				if ctx.Err() != nil {
					<-over
				}
				return f.Send(ctx, o)
			})(t, f)
		},
	},
	{
		name:  "Send gives no receipt",
		fails: []string{"each Send has a receipt of its own"},
		bend: resend(func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error) {
			_, err := f.Send(ctx, o)
			return channels.Receipt{}, err
		}),
	},
	{
		name:  "Send gives the same receipt for the same text",
		fails: []string{"each Send has a receipt of its own"},
		bend: resend(func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error) {
			_, err := f.Send(ctx, o)
			return channels.Receipt{ID: o.Text}, err
		}),
	},
	{
		name:  "Send loses what is sent beside another",
		fails: []string{"Send may be called from many goroutines"},
		bend: func(t *testing.T, f fake) channels.Channel {
			var busy atomic.Int64
			return resend(func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error) {
				defer busy.Add(-1)
				if busy.Add(1) > 1 {
					return channels.Receipt{ID: "lost"}, nil
				}
				time.Sleep(time.Millisecond) // in the bubble: until all others wait too
				return f.Send(ctx, o)
			})(t, f)
		},
	},
}

// judge is a Send whose error for a cancelled call is of another sort.
func judge(e channels.SendError) func(context.Context, fake, channels.Outgoing) (channels.Receipt, error) {
	return func(ctx context.Context, f fake, o channels.Outgoing) (channels.Receipt, error) {
		receipt, err := f.Send(ctx, o)
		if errors.Is(err, context.Canceled) {
			e.Err = err
			err = &e
		}
		return receipt, err
	}
}
