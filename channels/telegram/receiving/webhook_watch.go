package receiving

import (
	"context"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
)

// maintainWebhook registers the webhook, and checks it until ctx ends. backlogReceived, if not nil,
// is closed once the missing parts of albums that a restart interrupted have arrived or can no
// longer arrive. It returns an error if Telegram rejects the token, or if ctx ends during the
// registration.
func (r *Receiver) maintainWebhook(ctx context.Context, backlogReceived chan<- struct{}) error {
	reportedUntil := time.Now().Unix()
	r.renewWebhook(ctx)
	if err := r.registerWebhook(ctx); err != nil {
		return err
	}
	if backlogReceived != nil {
		r.awaitBacklog(ctx)
		close(backlogReceived)
	}
	for httpclient.Sleep(ctx, r.o.Timing.Watch) {
		info, err := r.o.API.GetWebhookInfo(ctx)
		if err != nil {
			if tokenErr := botapi.TokenError(err); tokenErr != nil {
				return tokenErr
			}
			r.connectionHealth.set(err)
			continue // the next check tries again
		}
		r.connectionHealth.set(nil)
		if failed := info.LastError; failed > reportedUntil {
			reportedUntil = failed
			r.o.Log.Warn("Telegram cannot deliver updates to the webhook and will retry", zap.String("url", r.o.Webhook.url),
				zap.String("reason", info.Reason), zap.Int("waiting", info.Pending))
		}
		if info.URL != r.o.Webhook.url {
			r.o.Log.Warn("another program has changed this bot's webhook; setting it again",
				zap.Bool("removed", info.URL == ""))
			if err := r.registerWebhook(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// renewWebhook makes Telegram deliver waiting updates at once. After failed deliveries Telegram
// waits up to two minutes, and setting the same webhook again does not change that: only deleting
// it first does. No update is dropped.
func (r *Receiver) renewWebhook(ctx context.Context) {
	info, err := r.o.API.GetWebhookInfo(ctx)
	if err != nil || info.URL != r.o.Webhook.url || info.Pending == 0 {
		return // registerWebhook reports errors
	}
	err = botapi.ExecuteWithTimeout(ctx, r.o.API, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
	if err != nil && ctx.Err() == nil {
		r.o.Log.Debug("webhook not renewed", zap.Error(err))
	}
}

// maxConnections is how many updates Telegram may deliver at the same time. Updates of one chat
// arrive one after the other.
const maxConnections = 40

// registerWebhook registers the webhook, with retries until ctx ends.
func (r *Receiver) registerWebhook(ctx context.Context) error {
	params := &bot.SetWebhookParams{
		URL: r.o.Webhook.url, SecretToken: r.o.Webhook.secret, MaxConnections: maxConnections, AllowedUpdates: allowedUpdates,
	}
	return r.connectionHealth.retry(ctx, r.o.Log, "webhook not registered, will retry", func() error {
		err := botapi.ExecuteWithTimeout(ctx, r.o.API, (*bot.Bot).SetWebhook, params)
		if err == nil {
			r.o.Log.Info("webhook registered", zap.String("url", r.o.Webhook.url))
		}
		return err
	})
}

// awaitBacklog waits until Telegram has no waiting updates, at most for Timing.Resend.
func (r *Receiver) awaitBacklog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timing.Resend)
	defer cancel()
	for {
		if info, err := r.o.API.GetWebhookInfo(ctx); err == nil && info.Pending == 0 {
			return
		}
		if !httpclient.Sleep(ctx, r.o.Timing.Resend/30) {
			return
		}
	}
}
