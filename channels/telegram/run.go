package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// Run receives until ctx ends, by polling or by webhook. It returns an error only if Telegram does
// not know the token, or if Remember was not called. Everything else is retried until ctx ends.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	if ctx.Err() != nil {
		return nil
	}
	defer c.api.http.CloseIdleConnections()
	if c.memory == nil {
		return errNoMemory
	}
	err := c.identify(ctx)
	if err == nil {
		err = c.work(ctx, receive)
	}
	if ctx.Err() != nil {
		return nil // told to end
	}
	return err
}

// work receives once it is known who we are.
func (c *Channel) work(ctx context.Context, receive channels.Receive) error {
	ctx, cancel := context.WithCancel(ctx)
	in := newIntake(c, receive)
	defer in.end()
	defer cancel()
	parts, err := c.remember(ctx, receive)
	if err != nil {
		return err
	}
	in.restore(ctx, parts)
	in.begin(func() { c.showMenu(ctx) })
	return in.listen(ctx)
}

// remember reads the channel's memory, with what earlier versions have left, until that succeeds or
// ctx ends. It returns the parts that are gathered.
func (c *Channel) remember(ctx context.Context, receive channels.Receive) (parts []channels.Incoming, err error) {
	for retrier := c.newRetrier("cannot read what earlier runs have left, will retry"); ; {
		err = c.importEarlier(ctx, receive)
		if err == nil {
			err = c.recognise(ctx)
		}
		if err == nil {
			err = c.moves.load(ctx, c.memory)
		}
		if err == nil {
			parts, err = c.memory.Parts(ctx)
		}
		c.stored.set(err)
		if err == nil {
			return parts, nil
		}
		if !retrier.Wait(ctx, err) {
			return nil, ctx.Err()
		}
	}
}

// listen accepts what Telegram delivers until ctx ends, and looks after the webhook. At the end the
// webhook stays, so that Telegram keeps for us what comes meanwhile.
func (in *intake) listen(ctx context.Context) error {
	c := in.c
	work, ctx := errgroup.WithContext(ctx)
	var complete chan struct{} // closed when Telegram has nothing more for albums that a restart cut off
	if in.anyAwaits() {
		complete = make(chan struct{})
		work.Go(func() error {
			select {
			case <-complete:
				in.stopAwaiting()
			case <-ctx.Done():
			}
			return nil
		})
	}
	if c.hook == nil {
		p := &poller{c: c, in: in, complete: complete}
		work.Go(func() error { return p.run(ctx) })
		return work.Wait()
	}
	deliver := deliverFunc(func(request context.Context, raw []byte) error { return in.deliver(ctx, request, raw) })
	c.webhook.Store(&deliver)
	defer c.webhook.Store(nil)
	work.Go(func() error { return c.keepHook(ctx, complete) })
	return work.Wait()
}

// identify asks who we are. Without its name a bot cannot tell when it is spoken to.
func (c *Channel) identify(ctx context.Context) error {
	retrier := c.newRetrier("cannot reach Telegram, will retry")
	for {
		me, err := c.api.getMe(ctx)
		if err == nil {
			c.me = *me
			c.log.Info("connected", zap.String("bot", "@"+c.me.Username))
			c.well.set(nil)
			return nil
		}
		if wrong := wrongToken(err); wrong != nil {
			return wrong
		}
		c.well.set(err)
		if !retrier.Wait(ctx, err) {
			return ctx.Err()
		}
	}
}

// wrongToken returns what to tell the operator if Telegram does not know the token.
func wrongToken(err error) error {
	var no *refusal
	if errors.As(err, &no) && (no.Code == http.StatusUnauthorized || no.Code == http.StatusNotFound) {
		return fmt.Errorf("the server does not know this bot: check channels.telegram.token and apiBase: %w", no)
	}
	return nil
}

// allowedUpdates are the kinds of update that we want, whichever way they come.
var allowedUpdates = []string{"message", "callback_query"}

func (c *Channel) newRetrier(what string) *httpclient.Retrier { return newRetrier(c.log, what) }

func newRetrier(log *zap.Logger, what string) *httpclient.Retrier {
	return httpclient.NewRetrier(log, what, time.Second/2, func(err error) time.Duration {
		var no *refusal
		if errors.As(err, &no) {
			return no.wait()
		}
		return 0
	})
}
