package web

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
	"nanobot/channels/web/history"
)

const (
	// receiveBatch is how many messages are received before they are marked as received. Messages
	// of different chats are received in parallel, so that the store can commit them together.
	receiveBatch = 128
	// firstRetryDelay is the first delay after the gateway did not receive a message.
	firstRetryDelay = 200 * time.Millisecond
	// sweepInterval is how often unused files are removed.
	sweepInterval = time.Hour
)

// Run passes stored messages to the gateway until ctx ends, also those from before a restart. If
// the gateway cannot receive a message, Run offers it again, and delays only the later messages of
// the same chat.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	h, err := c.openHistory()
	if err != nil {
		c.setHealth(err)
		return err
	}
	c.setHealth(nil)
	c.running.Store(true)
	defer c.running.Store(false)
	var work errgroup.Group
	work.Go(func() error { h.Listen(ctx); return nil })
	work.Go(func() error { c.sweepLoop(ctx, h); return nil })
	if c.push != nil {
		work.Go(func() error { c.push.Run(ctx); return nil })
	}
	work.Go(func() error { c.receiveLoop(ctx, h, receive); return nil })
	return work.Wait()
}

func (c *Channel) receiveLoop(ctx context.Context, h *history.History, receive channels.Receive) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	retrier := httpclient.NewRetrier(c.log, "message not received, will retry", firstRetryDelay)
	for ctx.Err() == nil {
		select {
		case <-c.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		err := c.checkDamage(c.receiveWaiting(ctx, h, receive))
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			retrier.Reset()
			timer.Stop()
		default:
			timer.Reset(retrier.Next(err))
		}
		c.setHealth(err)
	}
}

// receiveWaiting offers all waiting events to the gateway. It returns the last error.
func (c *Channel) receiveWaiting(ctx context.Context, h *history.History, receive channels.Receive) (trouble error) {
	held := map[string]bool{} // chats with an event that could not be received
	for after := int64(0); ctx.Err() == nil; {
		events, err := h.Waiting(ctx, after, receiveBatch)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		after = events[len(events)-1].Seq
		taken, err := c.receiveEvents(ctx, events, held, receive)
		if err != nil {
			trouble = err
		}
		if len(taken) > 0 { // also if ctx has ended: repeating them is harmless, but takes time
			if err := h.MarkReceived(context.WithoutCancel(ctx), taken); err != nil {
				return err
			}
		}
	}
	return trouble
}

// receiveEvents receives the events of several chats in parallel, in order within a chat. It
// returns the numbers of the received events, and adds the chats with an error to held.
func (c *Channel) receiveEvents(ctx context.Context, events []history.Event, held map[string]bool,
	receive channels.Receive,
) (taken []int64, trouble error) {
	byChat := map[string][]history.Event{}
	for _, e := range events {
		if !held[e.Chat] {
			byChat[e.Chat] = append(byChat[e.Chat], e)
		}
	}
	var mu sync.Mutex // protects the results and held
	var work sync.WaitGroup
	for chat, events := range byChat {
		work.Go(func() {
			for _, e := range events {
				var err error
				if in, ok := c.toIncoming(e); ok {
					err = receive(ctx, in)
				}
				mu.Lock()
				if err != nil {
					held[chat], trouble = true, err
				} else {
					taken = append(taken, e.Seq)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	work.Wait()
	return taken, trouble
}

// toIncoming returns an event as the gateway receives it. It reports false for a message whose
// content was removed, and for one of which a later event has a newer text.
func (c *Channel) toIncoming(e history.Event) (channels.Incoming, bool) {
	replaces := ""
	switch m := e.Message; {
	case e.Type == history.Edited && (m == nil || m.Removed), e.Type == history.Message && e.Runs > 0:
		return channels.Incoming{}, false
	case e.Type == history.Edited:
		replaces, e.ID = runID(e.ID, e.Runs-1), runID(e.ID, e.Runs)
		e.Text, e.Media, e.FittingSize = m.Text, m.Media, m.FittingSize
	}
	in := channels.Incoming{
		Chat: channels.Chat{Channel: Name, ID: e.Chat}, ID: e.ID,
		User: channels.User{ID: e.User, Name: cmp.Or(e.Name, e.User), Language: e.Language},
		Text: e.Text, Title: e.ChatTitle, FittingSize: e.FittingSize, Replaces: replaces,
	}
	switch e.Type {
	case history.Deleted:
		in.Change = channels.ChatDeleted
	case history.Pressed:
		in.ID, in.Press = e.Press, e.Data
		in.Respond = func(text string) {
			c.hub.publish(&streamEvent{
				name: "notice", owner: e.User, personal: true,
				data: func() any { return map[string]string{"text": text} },
			})
		}
	}
	for _, m := range e.Media {
		in.Media, in.MediaNames = append(in.Media, m.Path), append(in.MediaNames, m.Name)
	}
	return in, true
}

// PruneHistory deletes the messages that are older than a time.
func (c *Channel) PruneHistory(ctx context.Context, before time.Time) error {
	h, err := c.openHistory()
	if err == nil {
		err = h.Prune(ctx, before)
	}
	return err
}

// sweepLoop removes unused files periodically, and what belonged to deleted chats.
func (c *Channel) sweepLoop(ctx context.Context, h *history.History) {
	for {
		if err := h.RemoveUnusedFiles(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("unused files not removed", zap.Error(err))
		}
		for wait := time.After(sweepInterval); wait != nil; {
			c.purge(ctx, h)
			select {
			case <-ctx.Done():
				return
			case <-c.deleted:
			case <-wait:
				wait = nil
			}
		}
	}
}

// purge removes the messages and files of deleted chats.
func (c *Channel) purge(ctx context.Context, h *history.History) {
	if err := h.Purge(ctx, c.discardFiles); err != nil && ctx.Err() == nil {
		c.log.Warn("messages of deleted chats not removed", zap.Error(err))
	}
}

// discardFiles removes the files that people have sent from the folder of a deleted chat, unless
// the agent has changed them since.
func (c *Channel) discardFiles(chat string, media []history.Media) {
	folder, err := c.downloads.Open(chat)
	if err != nil {
		c.log.Warn("files of a deleted chat not removed", zap.String("chat", chat), zap.Error(err))
		return
	}
	defer folder.Close() //nolint:errcheck // it was only read
	var files []downloads.File
	for _, m := range media {
		if saved, ok := m.Saved(); ok && folder.Check(saved) == nil {
			files = append(files, saved)
		}
	}
	folder.Discard(files, true)
}
