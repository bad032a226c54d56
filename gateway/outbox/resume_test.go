package outbox_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// A channel may be one of several accounts of a network.
func TestABacklogOfAChannelThatHangsDelaysNoOther(t *testing.T) {
	s := openStore(t)
	slow, fast := &fakeChannel{}, &fakeChannel{}
	open := map[string]channels.Channel{"net.a": slow, "net.b": fast}
	enqueue := func(chat channels.Chat) {
		if _, _, err := s.Enqueue(t.Context(), store.Outbound{Parts: []channels.Outgoing{{Chat: chat, Text: "hi"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		enqueue(channels.Chat{Channel: "net.a", ID: fmt.Sprint(i)})
	}
	b, gone := channels.Chat{Channel: "net.b", ID: "1"}, channels.Chat{Channel: "net.gone", ID: "1"} // gone is not enabled
	enqueue(b)
	enqueue(gone)
	release, told := make(chan struct{}), make(chan events.Event, 1000)
	slow.call = func(int, channels.Outgoing) error { <-release; return nil }
	box := outbox.New(outbox.Options{
		Store: s, Channels: open, AtMostOnce: func() bool { return false }, Log: zap.NewNop(),
		Events: func(e events.Event) { told <- e },
	})
	stop := runOutbox(t, box)
	ctx, cancel := context.WithCancel(t.Context())
	resumed := make(chan error)
	go func() { resumed <- box.Resume(ctx) }()
	want := map[channels.Chat]events.Type{b: events.Sent, gone: events.Failed}
	for len(want) > 0 {
		e := <-told
		if want[e.Chat] != e.Type {
			t.Fatalf("came %+v, wanted %v", e, want)
		}
		delete(want, e.Chat)
	}
	close(release)
	for range 300 {
		if e := <-told; e.Chat.Channel != "net.a" || e.Type != events.Sent {
			t.Errorf("came %+v", e)
		}
	}
	cancel()
	if err := <-resumed; err != nil {
		t.Error(err)
	}
	box.Idle(t.Context())
	stop()
}

// slowStore is a store on a busy disk.
type slowStore struct{ *sqlite.Store }

func (s slowStore) NextDelivery(ctx context.Context, chat channels.Chat, after int64) (store.Delivery, bool, error) {
	d, ok, err := s.Store.NextDelivery(ctx, chat, after)
	time.Sleep(10 * time.Second)
	return d, ok, err
}

func TestTheReactionToAnAnswerOfAnEarlierRunComesOnABusyDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := slowStore{openStore(t)}, &reactingChannel{release: make(chan struct{})}
		question := store.ReceiveRequest{In: channels.Incoming{Chat: ann, ID: "1", Text: "hi"}, Claim: true}
		inbound := musttest.Get(s.Receive(t.Context(), question))(t).Inbound
		parts := []channels.Outgoing{{Chat: ann, Text: "hello"}}
		if _, _, err := s.Enqueue(t.Context(), store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts}); err != nil {
			t.Fatal(err)
		}
		musttest.Get(s.Finish(t.Context(), inbound.ID, store.Done, store.Outcome{}))(t)
		time.Sleep(time.Second)
		box := outbox.New(outbox.Options{
			Store: s, Channels: map[string]channels.Channel{"net": n}, AtMostOnce: func() bool { return false }, Log: zap.NewNop(),
			EndReaction: func(store.Inbound) (channels.Reaction, bool) { return channels.Finished, true },
		})
		close(n.release)
		stop := runOutbox(t, box)
		box.Wake(ann)
		time.Sleep(time.Minute)
		stop()
		wanttest.Equal(t, "reactions", fmt.Sprint(n.shown), "[1 done]")
	})
}
