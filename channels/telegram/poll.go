package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// poller asks for updates and hands them in, one after the other. What was handed in is received or
// on the shelf, and the next poll confirms it.
type poller struct {
	c        *Channel
	arrivals chan<- arrival
	complete chan<- struct{} // nil, or closed when Telegram has handed out all that it had
	top      int64           // the last update that was handed in
	resumed  bool            // an update came that no earlier run has received
}

// run polls until ctx ends. It returns an error only if Telegram does not know the token.
func (p *poller) run(ctx context.Context) error {
	network := p.c.newTrouble("poll failed, will retry")
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
			err = p.handIn(ctx, batch)
		}
		if err == nil {
			network.Over()
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

// poll asks for updates, and confirms those that were handed in.
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
	var batch []json.RawMessage
	err := p.c.api.call(call, "getUpdates", params, &batch)
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
	err := c.ask(ctx, "deleteWebhook", map[string]any{"drop_pending_updates": false}, nil)
	if err == nil {
		c.log.Info("a webhook is set for this bot; it was removed, because the mode is poll")
	}
	return err
}

// handIn hands in a batch. An update without a number is skipped.
func (p *poller) handIn(ctx context.Context, batch []json.RawMessage) error {
	numbered := len(batch) == 0
	var fresh []arrival
	for _, raw := range batch {
		id := p.c.number(raw)
		if id == 0 {
			continue
		}
		numbered = true
		if p.isOld(id) {
			p.top = id
			continue
		}
		fresh = append(fresh, arrival{body: raw, id: id})
	}
	for i, a := range fresh {
		a.more = i+1 < len(fresh)
		if !p.offer(ctx, a) {
			return nil // told to end
		}
		p.top = a.id
	}
	if p.complete != nil && len(batch) < batchSize {
		close(p.complete)
		p.complete = nil
	}
	if !numbered && p.top > 0 {
		p.top++ // step over it, or it would come for ever
	}
	if !numbered {
		return errUnnumbered
	}
	return nil
}

var errUnnumbered = errors.New("getUpdates: no update has an update_id")

// offer hands in an update until it is safe, and tells whether it is. Nothing goes before it.
func (p *poller) offer(ctx context.Context, a arrival) bool {
	disk := p.c.newTrouble("message not received, will retry")
	for ctx.Err() == nil {
		a.outcome = make(chan error, 1)
		select {
		case p.arrivals <- a:
		case <-ctx.Done():
			return false
		}
		select {
		case err := <-a.outcome:
			if err == nil {
				return true
			}
			if !disk.Wait(ctx, err) {
				return false
			}
		case <-ctx.Done():
		}
	}
	return false
}

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
