package telegram

import (
	"context"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
)

// maintainWebhook registers the webhook, and checks it until ctx ends. backlogReceived, if not nil,
// is closed once the missing parts of albums that a restart interrupted have arrived or can no
// longer arrive. It returns an error if Telegram rejects the token, or if ctx ends during the
// registration.
func (c *Channel) maintainWebhook(ctx context.Context, backlogReceived chan<- struct{}) error {
	reportedUntil := time.Now().Unix()
	c.renewWebhook(ctx)
	if err := c.registerWebhook(ctx); err != nil {
		return err
	}
	if backlogReceived != nil {
		c.awaitBacklog(ctx)
		close(backlogReceived)
	}
	for httpclient.Sleep(ctx, c.o.Timing.Watch) {
		info, err := c.api.getWebhookInfo(ctx)
		if err != nil {
			if tokenErr := tokenError(err); tokenErr != nil {
				return tokenErr
			}
			c.setConnectionError(err)
			continue // the next check tries again
		}
		c.connectionHealth.set(nil)
		if failed := info.LastError; failed > reportedUntil {
			reportedUntil = failed
			c.log.Warn("Telegram cannot deliver updates to the webhook and will retry", zap.String("url", c.webhook.url),
				zap.String("reason", info.Reason), zap.Int("waiting", info.Pending))
		}
		if info.URL != c.webhook.url {
			c.log.Warn("another program has changed this bot's webhook; setting it again",
				zap.Bool("removed", info.URL == ""))
			if err := c.registerWebhook(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// renewWebhook makes Telegram deliver waiting updates at once. After failed deliveries Telegram
// waits up to two minutes, and setting the same webhook again does not change that: only deleting
// it first does. No update is dropped.
func (c *Channel) renewWebhook(ctx context.Context) {
	info, err := c.api.getWebhookInfo(ctx)
	if err != nil || info.URL != c.webhook.url || info.Pending == 0 {
		return // registerWebhook reports errors
	}
	err = executeWithTimeout(ctx, c.api, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
	if err != nil && ctx.Err() == nil {
		c.log.Debug("webhook not renewed", zap.Error(err))
	}
}

// maxConnections is how many updates Telegram may deliver at the same time. Updates of one chat
// arrive one after the other.
const maxConnections = 40

// registerWebhook registers the webhook, with retries until ctx ends.
func (c *Channel) registerWebhook(ctx context.Context) error {
	retrier := c.newRetrier("webhook not registered, will retry")
	params := &bot.SetWebhookParams{
		URL: c.webhook.url, SecretToken: c.webhook.secret, MaxConnections: maxConnections, AllowedUpdates: allowedUpdates,
	}
	for {
		err := executeWithTimeout(ctx, c.api, (*bot.Bot).SetWebhook, params)
		if err == nil {
			c.log.Info("webhook registered", zap.String("url", c.webhook.url))
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

// awaitBacklog waits until Telegram has no waiting updates, at most for Timing.Resend.
func (c *Channel) awaitBacklog(ctx context.Context) {
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
