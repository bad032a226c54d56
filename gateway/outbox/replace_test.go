package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// refusedReplacer is a channel whose network refuses every edit for good.
type refusedReplacer struct{ *busyReplacer }

func (refusedReplacer) Replace(context.Context, string, channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{}, &channels.SendError{Err: errors.New("no edits"), Permanent: true}
}

func TestAStreamedTextStaysIfItsReplacementIsRefusedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refusedReplacer{&busyReplacer{fakeChannel: &fakeChannel{call: func(_ int, o channels.Outgoing) error {
			if o.Transient {
				return nil
			}
			return &channels.SendError{Err: errors.New("forbidden"), Permanent: true}
		}}}}
		s := openStore(t)
		got := musttest.Get(s.Receive(t.Context(), store.ReceiveRequest{In: channels.Incoming{Chat: ann, ID: "1", Text: "hi"}, Claim: true}))(t)
		inbound := got.Inbound.ID
		box := newChannelOutbox(s, n)
		stop := runOutbox(t, box)
		id := musttest.Get(box.Show(t.Context(), outbox.Transient{Inbound: inbound, Out: channels.Outgoing{Chat: ann, Text: "the ans"}}))(t)
		m := &outbox.Message{
			Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "the answer"}, Replace: []outbox.Shown{{ID: id}}, Inbound: inbound, Sequence: 1,
		}
		musttest.Do(t, box.Post(t.Context(), m))
		synctest.Wait()
		musttest.Do(t, box.RemoveLeft(t.Context(), ann, inbound, []string{id}))
		time.Sleep(time.Minute)
		stop()
		restart(t, s, n)
		if got := n.texts(); got != "[the ans the answer]" || len(n.removed) > 0 {
			t.Errorf("sent %s, removed %q", got, n.removed)
		}
	})
}

// A crash came before the record of the replaced message was dropped.
func TestANextStartDoesNotRemoveAMessageWhoseReplacementFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		first, claimed, err := s.Enqueue(t.Context(), store.Outbound{Parts: []channels.Outgoing{{Chat: ann, Text: "hi", Replace: "m1"}}, Claim: true})
		if err != nil || !claimed {
			t.Fatal(claimed, err)
		}
		musttest.Get(s.Settle(t.Context(), first.ID, store.Settlement{State: store.Failed, Reason: "forbidden"}))(t)
		for _, id := range []string{"m1", "m2"} {
			musttest.Do(t, s.AddTransient(t.Context(), store.Transient{Chat: ann, ID: id}))
		}
		n := &busyReplacer{fakeChannel: &fakeChannel{}}
		restart(t, s, n)
		wanttest.Equal(t, "removed", fmt.Sprint(n.removed), "[m2]")
		if left, err := s.Transients(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("recorded are %v, %v", left, err)
		}
	})
}

// restart starts an outbox and ends it, as a gateway does.
func restart(t *testing.T, s *sqlite.Store, n channels.Channel) {
	t.Helper()
	left := musttest.Get(s.Transients(t.Context()))(t)
	box := newChannelOutbox(s, n)
	stop := runOutbox(t, box)
	musttest.Do(t, box.Recover(t.Context(), store.Adopted{Transients: left}))
	time.Sleep(time.Minute)
	stop()
}

// slowClaims is a store that calls claimed after a delivery was claimed, before the outbox knows.
type slowClaims struct {
	*sqlite.Store
	claimed func()
}

func (s slowClaims) Enqueue(ctx context.Context, outbound store.Outbound) (store.Delivery, bool, error) {
	delivery, claimed, err := s.Store.Enqueue(ctx, outbound)
	if claimed {
		s.claimed()
	}
	return delivery, claimed, err
}

func TestAMessageIsNotRemovedBeforeAClaimedDeliveryIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &busyReplacer{fakeChannel: &fakeChannel{}}
		s := slowClaims{Store: openStore(t)}
		var box *outbox.Outbox
		s.claimed = func() {
			box.Remove(store.Transient{Chat: ann, ID: "m1"})
			time.Sleep(900 * time.Millisecond)
			if len(n.removed) > 0 || box.Empty(t.Context(), ann) {
				t.Errorf("removed %q before the answer was sent", n.removed)
			}
		}
		box = newChannelOutbox(s, n)
		stop := runOutbox(t, box)
		postText(t, box, ann, "the answer")
		time.Sleep(time.Minute)
		stop()
		if n.texts() != "[the answer]" || fmt.Sprint(n.removed) != "[m1]" {
			t.Errorf("sent %s, removed %q", n.texts(), n.removed)
		}
	})
}
