package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// screenNetwork edits messages as the test wants.
type screenNetwork struct {
	*fakeChannel
	edit    func(ctx context.Context) error
	replace func(ctx context.Context) error // nil: every edit that lasts succeeds
	removed *[]string
}

func (n screenNetwork) Edit(ctx context.Context, _ string, _ channels.Outgoing) error {
	return n.edit(ctx)
}

func (n screenNetwork) Remove(_ context.Context, _ channels.Chat, id string) error {
	if n.removed != nil {
		*n.removed = append(*n.removed, id)
	}
	return nil
}

func (n screenNetwork) Replace(ctx context.Context, id string, _ channels.Outgoing) (channels.Receipt, error) {
	if n.replace != nil {
		return channels.Receipt{ID: id}, n.replace(ctx)
	}
	return channels.Receipt{ID: id}, nil
}

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

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// untilAfter refuses calls for a while, as a network does that limits the edits of a chat.
func untilAfter(d time.Duration) func(context.Context) error {
	var since time.Time
	return func(context.Context) error {
		if since.IsZero() {
			since = time.Now()
		}
		if left := d - time.Since(since); left > 0 {
			return wait(left)
		}
		return nil
	}
}

func TestALiveScreenLosesItsStopButtonWithinTwoSecondsOfItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		edit, replace func(ctx context.Context) error
		removed, sent string
	}{
		"the last screen is confirmed":   {removed: "[]", sent: "[$]"},
		"the last screen gives way":      {replace: func(context.Context) error { return wait(time.Minute) }, removed: "[1]", sent: "[$ the last]"},
		"the call of the last one hangs": {replace: hang, removed: "[1]", sent: "[$ the last]"},
		"the last screen waits for the limit of its chat": {
			replace: untilAfter(1500 * time.Millisecond), removed: "[]", sent: "[$]",
		},
		"an edit hangs": {edit: hang, removed: "[]", sent: "[$]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var removed []string
				pass := func(context.Context) error { return nil }
				if c.edit == nil {
					c.edit = pass
				}
				if c.replace == nil {
					c.replace = pass
				}
				n := screenNetwork{fakeChannel: &fakeChannel{}, edit: c.edit, replace: c.replace, removed: &removed}
				box := newOutbox(openStore(t), n, nil)
				stop := runOutbox(t, box)
				over, end := context.WithCancel(t.Context())
				screen := liveScreen()
				screen.Over = over
				musttest.Get(box.Show(t.Context(), screen))(t)
				go func() { _, _ = box.Show(t.Context(), screen) }() // an edit
				synctest.Wait()
				m := &outbox.Message{Message: channels.Message{
					Chat: ann, Kind: channels.Answer, Text: "the last", Live: true, Buttons: []channels.Button{{Label: "Up", Data: "up"}},
					Notification: channels.Notification{Silent: true},
				}, Inbound: 1, Sequence: 1}
				musttest.Do(t, box.Post(t.Context(), m))
				end()
				box.EndScreen(t.Context(), ann, 1, time.Now())
				time.Sleep(2 * time.Second)
				synctest.Wait()
				wanttest.Equal(t, "removed", fmt.Sprint(removed), c.removed)
				time.Sleep(5 * time.Minute)
				wanttest.Equal(t, "sent", n.texts(), c.sent)
				stop()
			})
		})
	}
}

func TestMessagesAreSentAndTheirResultsStoredWhileAScreenHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := &fakeChannel{}, &settledStore{Store: openStore(t)}
		box := newOutbox(s, screenNetwork{fakeChannel: n, edit: hang}, nil)
		stop := runOutbox(t, box)
		musttest.Get(box.Show(t.Context(), liveScreen()))(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = box.Show(ctx, liveScreen()) }()
		synctest.Wait()
		postText(t, box, ann, "the answer")
		postText(t, box, ann, "the next")
		synctest.Wait()
		wanttest.Equal(t, "sent", n.texts(), "[$ the answer the next]")
		wanttest.Equal(t, "results", s.settled.Load(), 2)
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
		box := newOutbox(openStore(t), screenNetwork{fakeChannel: n, edit: func(context.Context) error { calls++; return closed }}, nil)
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
