package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"
)

// run takes in updates and hands them on, and asks for more only then.
func (in *intake) run(ctx context.Context) error {
	network := in.c.newTrouble("poll failed, will retry")
	disk := in.c.newTrouble("message not received, will retry")
	fresh := true // nothing was polled yet, and no webhook removed
	for ctx.Err() == nil {
		if err := in.deliver(ctx); err != nil {
			if !disk.wait(ctx, err) {
				return nil
			}
			continue
		}
		disk.over()
		if len(in.queue) > 0 {
			in.rest(ctx)
		}
		batch, err := in.poll(ctx)
		if fresh && hooked(err) {
			if err = in.c.removeWebhook(ctx); err == nil {
				fresh = false
				continue
			}
		}
		if err == nil {
			fresh = false
			err = in.take(ctx, batch)
			in.release()
		}
		if err == nil {
			network.over()
			continue
		}
		if wrong := wrongToken(err); wrong != nil {
			return wrong
		}
		if !network.wait(ctx, explain(err)) {
			return nil
		}
	}
	return nil
}

// poll asks for updates. While some wait to be handed on, those are not confirmed and come again at once, so there is
// nothing to wait for.
func (in *intake) poll(ctx context.Context) ([]json.RawMessage, error) {
	wait := in.c.o.Timing.Poll
	if len(in.queue) > 0 {
		wait = 0
	}
	params := map[string]any{
		"offset": in.offset(), "timeout": int(wait / time.Second), "limit": batchSize, "allowed_updates": allowedUpdates,
	}
	call, cancel := context.WithTimeoutCause(ctx, wait+in.c.o.Timing.Margin, errStalled)
	defer cancel()
	var batch []json.RawMessage
	err := in.c.api.call(call, "getUpdates", params, &batch)
	if err != nil && ctx.Err() == nil && call.Err() != nil {
		in.c.api.http.CloseIdleConnections() // what made this poll hang would make the next one hang
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

// removeWebhook takes away what an earlier run in webhook mode, or another program before us, has left. What Telegram
// has not delivered yet is polled.
func (c *Channel) removeWebhook(ctx context.Context) error {
	err := c.ask(ctx, "deleteWebhook", map[string]any{"drop_pending_updates": false}, nil)
	if err == nil {
		c.log.Info("a webhook is set for this bot; it was removed, because the mode is poll")
	}
	return err
}

// take puts a batch into the queue. Each update is decoded by itself: one that cannot be is skipped.
func (in *intake) take(ctx context.Context, batch []json.RawMessage) error {
	numbered := len(batch) == 0
	for _, raw := range batch {
		id := in.number(raw)
		if id == 0 {
			continue
		}
		numbered = true
		if in.seen[id] {
			continue
		}
		in.seen[id] = true
		in.top = id
		if in.isOld(id) || in.has(id) {
			continue
		}
		if u, ok := in.decode(id, raw); ok {
			if e, part := in.place(ctx, u); e != nil {
				e.updates = append(e.updates, id)
				in.enqueue(e, part, u)
			}
		}
	}
	in.forget()
	if !numbered && in.top > 0 {
		in.top++ // step over it, or it would come for ever
	}
	if !numbered {
		return errUnnumbered
	}
	return nil
}

var errUnnumbered = errors.New("getUpdates: no update has an update_id")

// number returns an update's id, or 0 if it has none.
func (in *intake) number(raw []byte) int64 {
	var u struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil || u.ID == 0 {
		in.c.log.Error("update without an id skipped", zap.Int("bytes", len(raw)), zap.Error(err))
		return 0
	}
	return u.ID
}

func (in *intake) decode(id int64, raw []byte) (u update, ok bool) {
	if err := json.Unmarshal(raw, &u); err != nil {
		in.c.log.Error("undecodable update skipped", zap.Int64("id", id), zap.Error(err))
		return u, false
	}
	in.c.moves.locate(u)
	return u, true
}

// resumeWindow is how far below the cursor an update is one that was received before. Telegram numbers updates anew when
// there were none for a week, and the cursor may be another bot's: what is further away is new.
const resumeWindow = 1000

// isOld tells whether an earlier run has received an update.
func (in *intake) isOld(id int64) bool {
	if !in.resumed && id <= in.c.cursor && id > in.c.cursor-resumeWindow {
		return true
	}
	in.resumed = true
	return false
}

// offset is the first update that was not handed on.
func (in *intake) offset() int64 {
	if first, ok := in.first(nil); ok {
		return first
	}
	if in.top == 0 {
		return 0 // whatever Telegram has for us
	}
	return in.top + 1
}

// cursorAfter is the cursor to store with an entry: the last update below which everything was handed on.
func (in *intake) cursorAfter(e *entry) int64 {
	if len(e.updates) > 1 && !slices.Contains(in.albums, span{e.updates[0], slices.Max(e.updates)}) {
		in.albums = append(in.albums, span{e.updates[0], slices.Max(e.updates)})
	}
	if first, ok := in.first(e); ok {
		return first - 1
	}
	return in.top
}

// span is from an album's first update to its last.
type span struct{ first, last int64 }

// first returns the first update that waits in the queue, without those of one entry. If it lies between the parts of an
// album, the album's first: part of an album that comes again after a restart would be taken for a new one.
func (in *intake) first(without *entry) (id int64, ok bool) {
	for _, e := range in.queue {
		if e != without && len(e.updates) > 0 && (!ok || e.updates[0] < id) {
			id, ok = e.updates[0], true
		}
	}
	for i := 0; ok && i < len(in.albums); i++ {
		if s := in.albums[i]; s.first < id && id <= s.last {
			id, i = s.first, -1 // which may lie in another one
		}
	}
	return id, ok
}

// forget drops the numbers of updates that will not come again.
func (in *intake) forget() {
	offset := in.offset()
	for id := range in.seen {
		if id < offset {
			delete(in.seen, id)
		}
	}
	in.albums = slices.DeleteFunc(in.albums, func(s span) bool { return s.last < offset })
}

// longestRest is how much later others may be heard while an entry is not complete.
const longestRest = 250 * time.Millisecond

// rest waits until an entry may have become complete, but not so long that other chats notice.
func (in *intake) rest(ctx context.Context) {
	wait := min(in.c.o.Timing.Quiet/4, longestRest)
	if d, ok := in.untilDue(); ok {
		wait = min(wait, d)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-in.woken:
	case <-ctx.Done():
	}
}
