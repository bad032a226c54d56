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

// poller asks for updates and has them accepted. The next poll confirms them, because they are
// stored by then.
type poller struct {
	c        *Channel
	in       *intake
	complete chan<- struct{} // nil, or closed when Telegram has handed out all that it had
	top      int64           // the last update that is stored
	resumed  bool            // an update came that no earlier run has received
}

// run polls until ctx ends. It returns an error only if Telegram does not know the token.
func (p *poller) run(ctx context.Context) error {
	network := p.c.newRetrier("poll failed, will retry")
	fresh := true // nothing was polled yet, and no webhook removed
	for ctx.Err() == nil {
		batch, err := p.poll(ctx)
		if fresh && hooked(err) {
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
			p.c.well.set(nil)
			continue
		}
		if wrong := wrongToken(err); wrong != nil {
			return wrong
		}
		err = explain(err)
		p.c.well.set(err)
		if !network.Wait(ctx, err) {
			return nil
		}
	}
	return nil
}

// poll asks for updates, and confirms those that are stored.
func (p *poller) poll(ctx context.Context) ([]json.RawMessage, error) {
	wait := p.c.o.Timing.Poll
	if p.complete != nil {
		wait = 0 // an album waits for what there is now
	}
	offset := int64(0) // whatever Telegram has for us
	if p.top != 0 {
		offset = p.top + 1
	}
	params := map[string]any{
		"offset": offset, "timeout": int(wait / time.Second), "limit": batchSize, "allowed_updates": allowedUpdates,
	}
	call, cancel := context.WithTimeoutCause(ctx, wait+p.c.o.Timing.Margin, errStalled)
	defer cancel()
	batch, err := p.c.api.getUpdates(call, params)
	if err != nil && ctx.Err() == nil && call.Err() != nil {
		p.c.api.http.CloseIdleConnections() // what made this poll hang would make the next one hang
		return nil, errStalled
	}
	return batch, err
}

// batchSize is the most that Telegram hands out at once.
const batchSize = 100

var errStalled = errors.New("getUpdates: no answer in time; connecting anew")

// hooked tells whether a poll was refused because a webhook is set.
func hooked(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.Code == http.StatusConflict && no.says("webhook")
}

// explain says in plain words what stands in the way of polling.
func explain(err error) error {
	var no *refusal
	switch {
	case hooked(err):
		return fmt.Errorf("somebody has set a webhook for this bot while we poll; a token serves one program only: %w", err)
	case errors.As(err, &no) && no.Code == http.StatusConflict:
		return fmt.Errorf("somebody else polls with this bot's token; a token serves one program only: %w", err)
	}
	return err
}

// removeWebhook takes away what an earlier run in webhook mode, or another program before us, has
// left. What Telegram has not delivered yet is polled.
func (c *Channel) removeWebhook(ctx context.Context) error {
	err := executeWithTimeout(ctx, c.api, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
	if err == nil {
		c.log.Info("a webhook is set for this bot; it was removed, because the mode is poll")
	}
	return err
}

// accept has a batch accepted. An update without a number is skipped.
func (p *poller) accept(ctx context.Context, batch []json.RawMessage) error {
	last := int64(0)
	var fresh []*update
	for _, raw := range batch {
		u, ok := p.in.decode(raw)
		if u.ID == 0 {
			continue
		}
		last = u.ID
		if !p.isOld(u.ID) {
			if !ok {
				u.Message, u.Press = nil, nil
			}
			fresh = append(fresh, u)
		}
	}
	if len(fresh) > 0 {
		if !p.in.acceptAll(ctx, fresh) {
			return nil // told to end
		}
		p.c.cursor = last
	}
	if p.complete != nil && len(batch) < batchSize {
		close(p.complete)
		p.complete = nil
	}
	switch {
	case last != 0:
		p.top = last
	case len(batch) > 0:
		if p.top > 0 {
			p.top++ // step over it, or it would come for ever
		}
		return errUnnumbered
	}
	return nil
}

var errUnnumbered = errors.New("getUpdates: no update has an update_id")

// resumeWindow is how far below the cursor an update is one that was received before. Telegram
// numbers updates anew when there were none for a week: what is further away is new.
const resumeWindow = 1000

// isOld tells whether an earlier run has received an update.
func (p *poller) isOld(id int64) bool {
	if !p.resumed && id <= p.c.cursor && id > p.c.cursor-resumeWindow {
		return true
	}
	p.resumed = true
	return false
}
