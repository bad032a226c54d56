package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-telegram/bot"
)

// poller polls for updates. The next poll confirms them, because they are stored by then.
type poller struct {
	c            *Channel
	receiver     *receiver
	complete     chan<- struct{} // nil, or closed when Telegram has no more waiting updates
	lastUpdate   int64           // ID of the last stored update
	sawNewUpdate bool            // an update arrived that no earlier run has received
}

// run polls until ctx ends. It returns an error only if Telegram does not know the token.
func (p *poller) run(ctx context.Context) error {
	network := p.c.newRetrier("poll failed, will retry")
	fresh := true // no poll has succeeded yet, and no webhook was removed
	for ctx.Err() == nil {
		batch, err := p.poll(ctx)
		if fresh && isWebhookConflict(err) {
			if err = p.c.removeWebhook(ctx); err == nil {
				fresh = false
				continue
			}
		}
		if err == nil {
			fresh = false
			err = p.accept(ctx, batch)
		}
		if err == nil {
			network.Reset()
			p.c.connectionHealth.set(nil)
			continue
		}
		if wrong := tokenError(err); wrong != nil {
			return wrong
		}
		err = explainConflict(err)
		p.c.connectionHealth.set(err)
		if !network.Wait(ctx, err) {
			return nil
		}
	}
	return nil
}

// poll requests updates, and confirms the stored ones.
func (p *poller) poll(ctx context.Context) ([]json.RawMessage, error) {
	wait := p.c.o.Timing.Poll
	if p.complete != nil {
		wait = 0 // an album waits for the updates that are there already
	}
	offset := int64(0) // all waiting updates
	if p.lastUpdate != 0 {
		offset = p.lastUpdate + 1
	}
	params := map[string]any{
		"offset": offset, "timeout": int(wait / time.Second), "limit": batchSize, "allowed_updates": allowedUpdates,
	}
	call, cancel := context.WithTimeoutCause(ctx, wait+p.c.o.Timing.Margin, errStalled)
	defer cancel()
	batch, err := p.c.api.getUpdates(call, params)
	if err != nil && ctx.Err() == nil && call.Err() != nil {
		p.c.api.http.CloseIdleConnections() // the same connection would make the next poll hang
		return nil, errStalled
	}
	return batch, err
}

// batchSize is the largest number of updates that Telegram returns.
const batchSize = 100

var errStalled = errors.New("getUpdates: no response in time; reconnecting")

// isWebhookConflict tells whether a poll was refused because a webhook is set.
func isWebhookConflict(err error) bool {
	var no *apiError
	return errors.As(err, &no) && no.Code == http.StatusConflict && no.mentions("webhook")
}

// explainConflict adds the likely cause to a conflict error.
func explainConflict(err error) error {
	var no *apiError
	switch {
	case isWebhookConflict(err):
		return fmt.Errorf("another program has set a webhook for this bot; only one program can use a token: %w", err)
	case errors.As(err, &no) && no.Code == http.StatusConflict:
		return fmt.Errorf("another program polls with this bot's token; only one program can use a token: %w", err)
	}
	return err
}

// removeWebhook removes the webhook of an earlier run or of another program. Updates that were not
// delivered yet are polled.
func (c *Channel) removeWebhook(ctx context.Context) error {
	err := executeWithTimeout(ctx, c.api, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
	if err == nil {
		c.log.Info("a webhook is set for this bot; it was removed, because the mode is poll")
	}
	return err
}

// accept accepts a batch. Updates without an ID are skipped.
func (p *poller) accept(ctx context.Context, batch []json.RawMessage) error {
	last := int64(0)
	var fresh []*update
	for _, raw := range batch {
		u, ok := p.receiver.decodeUpdate(raw)
		if u.ID == 0 {
			continue
		}
		last = u.ID
		if !p.wasReceived(u.ID) {
			if !ok {
				u.Message, u.CallbackQuery = nil, nil
			}
			fresh = append(fresh, u)
		}
	}
	if len(fresh) > 0 {
		if !p.receiver.acceptBatch(ctx, fresh) {
			return nil // shutting down
		}
		p.c.lastStored = last
	}
	if p.complete != nil && len(batch) < batchSize {
		close(p.complete)
		p.complete = nil
	}
	switch {
	case last != 0:
		p.lastUpdate = last
	case len(batch) > 0:
		if p.lastUpdate > 0 {
			p.lastUpdate++ // skip it, or Telegram would return it forever
		}
		return errUnnumbered
	}
	return nil
}

var errUnnumbered = errors.New("getUpdates: no update has an update_id")

// resumeWindow is how far below the cursor an update ID counts as received before. After a week
// without updates Telegram restarts at a random ID, so IDs further away are new.
const resumeWindow = 1000

// wasReceived tells whether an earlier run has received an update.
func (p *poller) wasReceived(id int64) bool {
	if !p.sawNewUpdate && id <= p.c.lastStored && id > p.c.lastStored-resumeWindow {
		return true
	}
	p.sawNewUpdate = true
	return false
}
