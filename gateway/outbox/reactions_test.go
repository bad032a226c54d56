package outbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
)

// reactingChannel uses reactions in ann's chat, and shows them when the test lets it.
type reactingChannel struct {
	fakeChannel
	release chan struct{}

	shownMu sync.Mutex
	shown   []string
}

func (c *reactingChannel) Reacts(chat channels.Chat) bool { return chat == ann }

func (c *reactingChannel) React(ctx context.Context, _ channels.Chat, id string, r channels.Reaction) error {
	select {
	case <-c.release:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.shownMu.Lock()
	defer c.shownMu.Unlock()
	c.shown = append(c.shown, id+" "+string(r))
	return nil
}

// newReacting returns an outbox without a store, whose network shows no reaction yet.
func newReacting() (*outbox.Outbox, *reactingChannel) {
	c := &reactingChannel{release: make(chan struct{})}
	return outbox.New(outbox.Options{Channels: map[string]channels.Channel{"net": c}, Log: zap.NewNop()}), c
}

func TestOnlyTheLatestReactionIsShownAndNobodyWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, c := newReacting()
		defer runOutbox(t, o)()
		o.React(ann, "1", channels.Taken)
		synctest.Wait() // the call hangs
		o.React(ann, "1", channels.NoReaction)
		o.React(ann, "1", channels.Finished)
		o.React(bob, "2", channels.Taken)
		o.React(ann, "", channels.Taken)
		close(c.release)
		synctest.Wait()
		if got := fmt.Sprint(c.shown); got != "[1 taken 1 done]" {
			t.Errorf("shown are %s", got)
		}
		o.React(ann, "1", channels.Broken)
		synctest.Wait()
		if got := fmt.Sprint(c.shown); got != "[1 taken 1 done 1 failed]" {
			t.Errorf("shown are %s", got)
		}
	})
}

func TestReactionsThatTheNetworkDoesNotShowAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, c := newReacting()
		defer runOutbox(t, o)()
		for i := range 1000 {
			o.React(ann, fmt.Sprint(i), channels.Taken)
		}
		synctest.Wait()
		o.Idle(t.Context()) // the hanging calls time out
		close(c.release)
		synctest.Wait()
		if len(c.shown) != 0 {
			t.Errorf("%d reactions were shown too late", len(c.shown))
		}
		o.React(ann, "new", channels.Taken)
		synctest.Wait()
		if got := fmt.Sprint(c.shown); got != "[new taken]" {
			t.Errorf("shown are %s", got)
		}
	})
}
