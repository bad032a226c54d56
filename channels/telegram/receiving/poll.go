package receiving

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/updates"
)

// poller polls for updates. Each poll confirms the updates of the previous one, which are stored by
// then.
type poller struct {
	r               *Receiver
	acceptor        *acceptor
	backlogReceived chan<- struct{} // nil, or closed when Telegram has no more waiting updates
	lastUpdate      int64           // ID of the last stored update
	sawNewUpdate    bool            // an update arrived that no earlier run has received
}

// run polls until ctx ends. It returns an error only if Telegram rejects the token.
func (p *poller) run(ctx context.Context) error {
	retrier := httpclient.NewRetrier(p.r.o.Log, "poll failed, will retry", httpclient.FirstDelay)
	firstPoll := true // no poll has succeeded yet, and no webhook was removed
	for ctx.Err() == nil {
		batch, err := p.poll(ctx)
		if firstPoll && botapi.IsWebhookConflict(err) {
			if err = p.r.removeWebhook(ctx); err == nil {
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
			p.r.connectionHealth.set(nil)
			continue
		}
		if tokenErr := botapi.TokenError(err); tokenErr != nil {
			return tokenErr
		}
		err = botapi.ExplainConflict(err)
		p.r.connectionHealth.set(err)
		if !retrier.Wait(ctx, err) {
			return nil
		}
	}
	return nil
}

// poll requests updates, and confirms the stored ones. Telegram waits for updates, if there are
// none.
func (p *poller) poll(ctx context.Context) ([]json.RawMessage, error) {
	wait := p.r.o.Timing.Poll
	if p.backlogReceived != nil {
		wait = 0 // the parts of an interrupted album may be among the waiting updates
	}
	offset := int64(0) // all waiting updates
	if p.lastUpdate != 0 {
		offset = p.lastUpdate + 1
	}
	params := map[string]any{
		"offset": offset, "timeout": int(wait / time.Second), "limit": batchSize, "allowed_updates": allowedUpdates,
	}
	call, cancel := context.WithTimeoutCause(ctx, wait+p.r.o.Timing.Margin, errStalled)
	defer cancel()
	batch, err := p.r.o.API.GetUpdates(call, params)
	if err != nil && ctx.Err() == nil && call.Err() != nil {
		p.r.o.API.CloseIdleConnections() // the same connection would make the next poll hang
		return nil, errStalled
	}
	return batch, err
}

// batchSize is the largest number of updates that Telegram returns.
const batchSize = 100

var errStalled = errors.New("getUpdates: no response in time; reconnecting")

// acceptUpdates stores a batch of updates. Updates without an ID are skipped.
func (p *poller) acceptUpdates(ctx context.Context, batch []json.RawMessage) error {
	last := int64(0)
	var newUpdates []*updates.Update
	for _, raw := range batch {
		u, ok := p.acceptor.decodeUpdate(raw)
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
		if !p.acceptor.acceptBatch(ctx, newUpdates) {
			return nil // shutting down
		}
		p.r.lastStored = last
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
	if !p.sawNewUpdate && id <= p.r.lastStored && id > p.r.lastStored-resumeWindow {
		return true
	}
	p.sawNewUpdate = true
	return false
}
