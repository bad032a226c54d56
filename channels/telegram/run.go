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

// Run receives updates until ctx ends, by polling or by webhook. It returns an error only if
// Telegram rejects the token or SetMemory was not called. Other failures are retried.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	if ctx.Err() != nil {
		return nil
	}
	defer c.api.http.CloseIdleConnections()
	if c.memory == nil {
		return errNoMemory
	}
	err := c.fetchBotUser(ctx)
	if err == nil {
		err = c.receiveUpdates(ctx, receive)
	}
	if ctx.Err() != nil {
		return nil // normal shutdown
	}
	return err
}

// receiveUpdates restores pending messages and receives updates until ctx ends.
func (c *Channel) receiveUpdates(ctx context.Context, receive channels.Receive) error {
	ctx, cancel := context.WithCancel(ctx)
	in := newReceiver(c, receive)
	defer in.awaitTasks()
	defer cancel()
	parts, err := c.loadState(ctx, receive)
	if err != nil {
		return err
	}
	in.restorePending(ctx, parts)
	in.startTask(func() { c.keepMenusPublished(ctx) })
	return in.run(ctx)
}

// loadState loads the channel's memory and imports the files of earlier versions, with retries
// until ctx ends. It returns the stored parts of pending messages.
func (c *Channel) loadState(ctx context.Context, receive channels.Receive) (parts []channels.Incoming, err error) {
	for retrier := c.newRetrier("cannot read the messages that earlier runs left, will retry"); ; {
		err = c.importLegacyState(ctx, receive)
		if err == nil {
			err = c.loadIdentity(ctx)
		}
		if err == nil {
			err = c.migrations.load(ctx, c.memory)
		}
		if err == nil {
			parts, err = c.memory.Parts(ctx)
		}
		c.storageHealth.set(err)
		if err == nil {
			return parts, nil
		}
		if !retrier.Wait(ctx, err) {
			return nil, ctx.Err()
		}
	}
}

// run receives updates until ctx ends, and maintains the webhook. The webhook stays registered
// afterwards, so that Telegram queues updates for the next run.
func (in *receiver) run(ctx context.Context) error {
	c := in.c
	work, ctx := errgroup.WithContext(ctx)
	var backlogReceived chan struct{} // closed when Telegram has sent the missing parts of albums that a restart interrupted
	if in.anyAwaitsParts() {
		backlogReceived = make(chan struct{})
		work.Go(func() error {
			select {
			case <-backlogReceived:
				in.stopAwaiting()
			case <-ctx.Done():
			}
			return nil
		})
	}
	if c.webhook == nil {
		p := &poller{c: c, receiver: in, backlogReceived: backlogReceived}
		work.Go(func() error { return p.run(ctx) })
		return work.Wait()
	}
	deliver := deliverFunc(func(request context.Context, raw []byte) error { return in.handleDelivery(ctx, request, raw) })
	c.deliverUpdate.Store(&deliver)
	defer c.deliverUpdate.Store(nil)
	work.Go(func() error { return c.maintainWebhook(ctx, backlogReceived) })
	return work.Wait()
}

// fetchBotUser fetches the bot's own account. Its username is needed to recognise mentions.
func (c *Channel) fetchBotUser(ctx context.Context) error {
	retrier := c.newRetrier("cannot reach Telegram, will retry")
	for {
		me, err := c.api.getMe(ctx)
		if err == nil {
			c.botUser = *me
			c.log.Info("connected", zap.String("bot", "@"+c.botUser.Username))
			c.connectionHealth.set(nil)
			return nil
		}
		if tokenErr := tokenError(err); tokenErr != nil {
			return tokenErr
		}
		c.setConnectionError(err)
		if !retrier.Wait(ctx, err) {
			return ctx.Err()
		}
	}
}

// setConnectionError records that Telegram cannot be reached. A call that our own rate limit has
// refused says nothing about that.
func (c *Channel) setConnectionError(err error) {
	if !errors.Is(err, channels.ErrBusy) {
		c.connectionHealth.set(err)
	}
}

// tokenError returns an error for the operator if Telegram rejects the token, or nil.
func tokenError(err error) error {
	var apiErr *apiError
	if errors.As(err, &apiErr) && (apiErr.Code == http.StatusUnauthorized || apiErr.Code == http.StatusNotFound) {
		return fmt.Errorf("the server does not know this bot: check channels.telegram.token and apiBase: %w", apiErr)
	}
	return nil
}

// allowedUpdates are the kinds of updates that polls and the webhook request.
var allowedUpdates = []string{"message", "edited_message", "callback_query"}

func (c *Channel) newRetrier(what string) *httpclient.Retrier { return newRetrier(c.log, what) }

func newRetrier(log *zap.Logger, what string) *httpclient.Retrier {
	return httpclient.NewRetrier(log, what, time.Second/2, func(err error) time.Duration {
		var apiErr *apiError
		var refused *channels.SendError
		switch {
		case errors.As(err, &apiErr):
			return apiErr.retryDelay()
		case errors.As(err, &refused): // by our own rate limit
			return refused.After
		}
		return 0
	})
}
