package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot"
)

// poller polls for updates. Each poll confirms the updates of the previous one, which are stored by
// then.
type poller struct {
	c               *Channel
	receiver        *receiver
	backlogReceived chan<- struct{} // nil, or closed when Telegram has no more waiting updates
	lastUpdate      int64           // ID of the last stored update
	sawNewUpdate    bool            // an update arrived that no earlier run has received
}

// run polls until ctx ends. It returns an error only if Telegram rejects the token.
func (p *poller) run(ctx context.Context) error {
	retrier := p.c.newRetrier("poll failed, will retry")
	firstPoll := true // no poll has succeeded yet, and no webhook was removed
	for ctx.Err() == nil {
		batch, err := p.poll(ctx)
		if err == nil && p.mayHaveMore(batch) {
			batch = p.pollAgain(ctx, batch)
		}
		if firstPoll && isWebhookConflict(err) {
			if err = p.c.removeWebhook(ctx); err == nil {
				firstPoll = false
				continue
			}
		}
		if err == nil {
			firstPoll = false
			err = p.acceptUpdates(ctx, batch)
		}
		if err == nil {
			retrier.Reset()
			p.c.connectionHealth.set(nil)
			continue
		}
		if tokenErr := tokenError(err); tokenErr != nil {
			return tokenErr
		}
		err = explainConflict(err)
		p.c.connectionHealth.set(err)
		if !retrier.Wait(ctx, err) {
			return nil
		}
	}
	return nil
}

// poll requests updates, and confirms the stored ones.
func (p *poller) poll(ctx context.Context) ([]json.RawMessage, error) {
	wait := p.c.o.Timing.Poll
	if p.backlogReceived != nil {
		wait = 0 // the parts of an interrupted album may be among the waiting updates
	}
	return p.requestUpdates(ctx, wait, wait+p.c.o.Timing.Margin)
}

// mayHaveMore reports whether a batch ends, for some chat, with a text to the bot. Apps send a
// comment and the messages that it introduces at once, but a long poll ends at the first update.
func (p *poller) mayHaveMore(batch []json.RawMessage) bool {
	if len(batch) == batchSize || p.backlogReceived != nil || p.c.o.Timing.Comment < 0 {
		return false
	}
	last := map[string]bool{}
	for _, raw := range batch {
		var u update
		if json.Unmarshal(raw, &u) != nil { // acceptUpdates reports it
			continue
		}
		if m := u.Message; m != nil {
			last[u.chat()] = m.isOwnText() && !m.mayContinue() && !strings.HasPrefix(m.Text, "/") && p.c.isForBot(m)
		}
	}
	return slices.Contains(slices.Collect(maps.Values(last)), true)
}

// pollAgain requests the updates of a batch again, with those that have arrived meanwhile. It does
// not wait for any, and confirms none: the updates are not stored yet. Without an answer the batch
// stays as it is.
func (p *poller) pollAgain(ctx context.Context, batch []json.RawMessage) []json.RawMessage {
	more, err := p.requestUpdates(ctx, 0, p.c.o.Timing.Comment)
	if err != nil || len(more) < len(batch) {
		return batch
	}
	return more
}

// requestUpdates makes one request, which takes at most limit. Telegram waits for updates, if there
// are none.
func (p *poller) requestUpdates(ctx context.Context, wait, limit time.Duration) ([]json.RawMessage, error) {
	offset := int64(0) // all waiting updates
	if p.lastUpdate != 0 {
		offset = p.lastUpdate + 1
	}
	params := map[string]any{
		"offset": offset, "timeout": int(wait / time.Second), "limit": batchSize, "allowed_updates": allowedUpdates,
	}
	call, cancel := context.WithTimeoutCause(ctx, limit, errStalled)
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

// isWebhookConflict reports whether a poll was refused because a webhook is set.
func isWebhookConflict(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.Code == http.StatusConflict && apiErr.mentions("webhook")
}

// explainConflict adds the likely cause to a conflict error.
func explainConflict(err error) error {
	var apiErr *apiError
	switch {
	case isWebhookConflict(err):
		return fmt.Errorf("another program has set a webhook for this bot; only one program can use a token: %w", err)
	case errors.As(err, &apiErr) && apiErr.Code == http.StatusConflict:
		return fmt.Errorf("another program polls with this bot's token; only one program can use a token: %w", err)
	}
	return err
}

// removeWebhook removes the webhook of an earlier run or of another program. Updates that were not
// delivered yet are polled.
func (c *Channel) removeWebhook(ctx context.Context) error {
	err := executeWithTimeout(ctx, c.api, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
	if err == nil {
		c.log.Info("removed the webhook of this bot, because the mode is poll")
	}
	return err
}

// acceptUpdates stores a batch of updates. Updates without an ID are skipped.
func (p *poller) acceptUpdates(ctx context.Context, batch []json.RawMessage) error {
	last := int64(0)
	var newUpdates []*update
	for _, raw := range batch {
		u, ok := p.receiver.decodeUpdate(raw)
		if u.ID == 0 {
			continue
		}
		last = u.ID
		if !p.checkReceived(u.ID) {
			if !ok {
				u.Message, u.CallbackQuery = nil, nil
			}
			newUpdates = append(newUpdates, u)
		}
	}
	if len(newUpdates) > 0 {
		if !p.receiver.acceptBatch(ctx, newUpdates) {
			return nil // shutting down
		}
		p.c.lastStored = last
	}
	if p.backlogReceived != nil && len(batch) < batchSize {
		close(p.backlogReceived)
		p.backlogReceived = nil
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

// checkReceived reports whether an earlier run has received an update. After the first new update,
// all later ones count as new.
func (p *poller) checkReceived(id int64) bool {
	if !p.sawNewUpdate && id <= p.c.lastStored && id > p.c.lastStored-resumeWindow {
		return true
	}
	p.sawNewUpdate = true
	return false
}
