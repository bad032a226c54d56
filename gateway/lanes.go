package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// dispatch runs what is pending: in order within a chat, chats side by side, as many as there are slots. Which chat is next is the
// store's to say, so a chat that waits costs no memory here.
func (g *Gateway) dispatch(ctx context.Context) error {
	for {
		select {
		case g.slots <- struct{}{}:
		case g.beat <- struct{}{}:
			continue
		case <-ctx.Done():
			return nil
		}
		ok, err := g.claim(ctx)
		if ok && err == nil {
			continue
		}
		<-g.slots
		if err != nil && ctx.Err() == nil {
			g.o.Log.Error("cannot read the inbox, will retry", zap.Error(err))
			if !retry.Sleep(ctx, time.Second) {
				return nil
			}
			continue
		}
		if !g.rest(ctx) {
			return nil
		}
	}
}

// rest waits until there may be something to claim. It reports false when ctx has ended.
func (g *Gateway) rest(ctx context.Context) bool {
	for {
		select {
		case <-g.wake:
			return true
		case g.beat <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
}

// claim begins the next turn, if there is one.
func (g *Gateway) claim(ctx context.Context) (bool, error) {
	defer g.claims.Begin()()
	item, ok, err := g.o.Store.Claim(ctx)
	if ok && err == nil {
		g.begin(item)
	}
	return ok, err
}

// poke tells dispatch that there may be something to run.
func (g *Gateway) poke() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// begin starts a turn in the slot that the caller holds.
func (g *Gateway) begin(item store.Item) {
	t := g.newTurn(item)
	t.slot.Store(true)
	g.mu.Lock()
	g.active[item.In.Chat] = t
	g.mu.Unlock()
	g.tell(events.Event{What: events.Started, Chat: item.In.Chat, Item: item.ID})
	g.turns.Go(func() {
		g.locks.Lock(item.In.Chat)() // what is being done to the chat comes first
		t.run()
		g.mu.Lock()
		if g.active[item.In.Chat] == t { // the chat's next turn may have begun already
			delete(g.active, item.In.Chat)
		}
		g.mu.Unlock()
		t.releaseSlot()
	})
}

// running returns the turn at work in a chat, or nil.
func (g *Gateway) running(chat channels.Chat) *turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.active[chat]; t != nil && !t.over.Load() {
		return t
	}
	return nil
}
