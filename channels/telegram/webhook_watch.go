package telegram

import (
	"context"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
)

// keepHook registers the webhook, and looks after it until ctx ends. complete, if not nil, is
// closed once the parts of albums that a restart cut off have come, or will not. It returns an
// error only if Telegram does not know the token.
func (c *Channel) keepHook(ctx context.Context, complete chan<- struct{}) error {
	began := time.Now().Unix()
	c.hurry(ctx)
	if err := c.register(ctx); err != nil {
		return err
	}
	if complete != nil {
		c.awaitRest(ctx)
		close(complete)
	}
	for httpclient.Sleep(ctx, c.o.Timing.Watch) {
		info, err := c.api.getWebhookInfo(ctx)
		if err != nil {
			if wrong := wrongToken(err); wrong != nil {
				return wrong
			}
			c.well.set(err)
			continue // what cannot be asked now is asked next time
		}
		c.well.set(nil)
		if failed := info.LastError; failed > began {
			began = failed
			c.log.Warn("Telegram cannot deliver to the webhook, and tries again", zap.String("url", c.hook.url),
				zap.String("reason", info.Reason), zap.Int("waiting", info.Pending))
		}
		if info.URL != c.hook.url {
			c.log.Warn("somebody has changed this bot's webhook; setting it again. A token serves one program only",
				zap.Bool("removed", info.URL == ""))
			if err := c.register(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// hurry has Telegram deliver at once what it could not while we were away. It waits up to two
// minutes before it tries again, and setting the same webhook once more does not change that: only
// a new one does. Nothing is dropped.
func (c *Channel) hurry(ctx context.Context) {
	info, err := c.api.getWebhookInfo(ctx)
	if err != nil || info.URL != c.hook.url || info.Pending == 0 {
		return // what is wrong, if anything, comes to light when the webhook is set
	}
	err = executeWithTimeout(ctx, c.api, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
	if err != nil && ctx.Err() == nil {
		c.log.Debug("webhook not renewed", zap.Error(err))
	}
}

// maxConnections is how many chats Telegram may speak for at once. Updates of one chat come one
// after the other.
const maxConnections = 40

// register tells Telegram where to deliver, until it agrees.
func (c *Channel) register(ctx context.Context) error {
	retrier := c.newRetrier("webhook not registered, will retry")
	params := &bot.SetWebhookParams{
		URL: c.hook.url, SecretToken: c.hook.secret, MaxConnections: maxConnections, AllowedUpdates: allowedUpdates,
	}
	for {
		err := executeWithTimeout(ctx, c.api, (*bot.Bot).SetWebhook, params)
		if err == nil {
			c.log.Info("webhook registered", zap.String("url", c.hook.url))
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

// awaitRest waits until Telegram has nothing more for us, or has had the time to try everything
// again.
func (c *Channel) awaitRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timing.Resend)
	defer cancel()
	for {
		if info, err := c.api.getWebhookInfo(ctx); err == nil && info.Pending == 0 {
			return
		}
		if !httpclient.Sleep(ctx, c.o.Timing.Resend/30) {
			return
		}
	}
}
