package outbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// screenNetwork edits messages as the test wants.
type screenNetwork struct {
	*fakeChannel
	edit func(ctx context.Context) error
}

func (n screenNetwork) Edit(ctx context.Context, _ string, _ channels.Outgoing) error {
	return n.edit(ctx)
}

func (screenNetwork) Remove(context.Context, channels.Chat, string) error { return nil }

// settledStore counts the results of deliveries.
type settledStore struct {
	outbox.Store
	settled atomic.Int32
}

func (s *settledStore) Settle(ctx context.Context, id int64, end store.Settlement) (bool, error) {
	s.settled.Add(1)
	return s.Store.Settle(ctx, id, end)
}

// liveScreen is a live screen of a running turn.
func liveScreen() outbox.Transient {
	return outbox.Transient{
		Inbound: 1, Board: true, Current: func() bool { return true },
		Out: channels.Outgoing{Chat: ann, Text: "$", Live: true, Buttons: []channels.Button{{Label: "Stop", Data: "stop:1"}}},
	}
}

func TestTheResultOfASendIsStoredWhileAScreenHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := &fakeChannel{}, &settledStore{Store: openStore(t)}
		box := newOutbox(s, screenNetwork{n, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, nil)
		stop := runOutbox(t, box)
		musttest.Get(box.Show(t.Context(), liveScreen()))(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = box.Show(ctx, liveScreen()) }()
		synctest.Wait()
		postText(t, box, ann, "the answer")
		synctest.Wait()
		wanttest.Equal(t, "sent", n.texts(), "[$ the answer]")
		wanttest.Equal(t, "results", s.settled.Load(), 1)
		cancel()
		synctest.Wait()
		stop()
	})
}

func TestTheScreenOfAPersonWhoHasBlockedTheBotCostsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := &channels.SendError{Err: errors.New("blocked"), Permanent: true, Closed: true}
		calls := 0
		n := &fakeChannel{call: func(number int, _ channels.Outgoing) error {
			if number > 1 {
				calls++
				return closed
			}
			return nil
		}}
		box := newOutbox(openStore(t), screenNetwork{n, func(context.Context) error { calls++; return closed }}, nil)
		stop := runOutbox(t, box)
		musttest.Get(box.Show(t.Context(), liveScreen()))(t)
		for range 3 {
			if _, err := box.Show(t.Context(), liveScreen()); err == nil {
				t.Error("the screen is shown")
			}
		}
		wanttest.Equal(t, "calls", calls, 1)
		stop()
	})
}
