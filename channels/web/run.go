package web

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/web/history"
)

const (
	// atOnce is how many messages are handed on before that is noted. Those of different chats are
	// received at the same time, so that the store can commit them together.
	atOnce = 128
	// firstPause and longestPause bound the wait before a message that the gateway could not take
	// is offered again.
	firstPause, longestPause = 200 * time.Millisecond, 10 * time.Second
	// keptFor is how long conversations are kept; tidyEvery is how often older ones are looked for.
	keptFor   = 30 * 24 * time.Hour
	tidyEvery = time.Hour
)

// Run hands on what was said, until ctx ends: also what was said before it began. What the gateway
// cannot take is offered again, and holds back what follows in its chat only.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	h, err := c.history()
	if err != nil {
		c.setTrouble(err)
		return err
	}
	c.setTrouble(nil)
	var work errgroup.Group
	work.Go(func() error { c.tidy(ctx, h); return nil })
	work.Go(func() error { c.intake(ctx, h, receive); return nil })
	return work.Wait()
}

func (c *Channel) intake(ctx context.Context, h *history.History, receive channels.Receive) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause, said := firstPause, ""
	for ctx.Err() == nil {
		select {
		case <-c.poke:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		err := c.judge(c.handOn(ctx, h, receive))
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause, said = firstPause, ""
			timer.Stop()
		default:
			if text := err.Error(); text != said { // once an error, not once a try
				c.log.Warn("message not received, will retry", zap.Error(err))
				said = text
			}
			timer.Reset(pause)
			pause = min(2*pause, longestPause)
		}
		c.setTrouble(err)
	}
}

// handOn offers everything that waits. It returns the last error.
func (c *Channel) handOn(ctx context.Context, h *history.History, receive channels.Receive) (trouble error) {
	held := map[string]bool{} // chats of which something could not be received
	for after := int64(0); ctx.Err() == nil; {
		events, err := h.Waiting(ctx, after, atOnce)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		after = events[len(events)-1].Seq
		taken, err := receiveAll(ctx, events, held, receive)
		if err != nil {
			trouble = err
		}
		if len(taken) > 0 { // even if ctx has ended: or they would be offered again, which the gateway sees through but takes time
			if err := h.Take(context.WithoutCancel(ctx), taken); err != nil {
				return err
			}
		}
	}
	return trouble
}

// receiveAll receives the messages of several chats at the same time, in order within a chat, and
// returns the numbers of those that were received. A chat of which something could not be received
// is held from then on.
func receiveAll(ctx context.Context, events []history.Event, held map[string]bool, receive channels.Receive) (taken []int64, trouble error) {
	byChat := map[string][]history.Event{}
	for _, e := range events {
		if !held[e.Chat] {
			byChat[e.Chat] = append(byChat[e.Chat], e)
		}
	}
	var mu sync.Mutex // of what is returned, and of held
	var work sync.WaitGroup
	for chat, events := range byChat {
		work.Go(func() {
			for _, e := range events {
				err := receive(ctx, incoming(e))
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

// incoming is what the gateway receives of an event.
func incoming(e history.Event) channels.Incoming {
	in := channels.Incoming{
		Chat: channels.Chat{Channel: Name, ID: e.Chat}, ID: e.ID, User: channels.User{ID: e.User, Name: e.User}, Text: e.Text,
	}
	if e.Type == history.Pressed {
		in.ID, in.Press = e.Press, e.Data
	}
	for _, m := range e.Media {
		in.Media = append(in.Media, m.Path)
	}
	return in
}

// tidy forgets old conversations, and files that came into none.
func (c *Channel) tidy(ctx context.Context, h *history.History) {
	for {
		if err := h.Prune(ctx, time.Now().Add(-keptFor)); err != nil && ctx.Err() == nil {
			c.log.Warn("old conversations not forgotten", zap.Error(err))
		}
		if err := h.Sweep(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("files not swept", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tidyEvery):
		}
	}
}
