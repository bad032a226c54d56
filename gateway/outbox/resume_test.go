package outbox_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
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
