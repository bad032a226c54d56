package sqlite_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

func TestDeliveryKeysOfASnapshotAreThoseOfItsDeliveries(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	answer := func(to channels.Chat, id string) store.Delivery {
		t.Helper()
		request := store.ReceiveRequest{In: channels.Incoming{Chat: to, ID: id}, Settle: true, Answer: []channels.Outgoing{{Chat: to, Text: id}}}
		musttest.Get(s.Receive(ctx, request))(t)
		delivery, ok, err := s.NextDelivery(ctx, to, 0)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return delivery
	}
	here, elsewhere := channels.Chat{Channel: "web", ID: "1"}, channels.Chat{Channel: "webs", ID: "1"}
	sent, foreign := answer(here, "sent"), answer(elsewhere, "foreign")
	musttest.Get(s.Settle(ctx, sent.ID, store.Settlement{State: store.Sent, Receipt: "7"}))(t)
	pending := answer(here, "pending")
	if missing, err := sqlite.Snapshot(ctx, dir, to); err != nil || len(missing) != 0 {
		t.Fatal(missing, err)
	}
	musttest.Get(s.Settle(ctx, pending.ID, store.Settlement{State: store.Sent, Receipt: "8"}))(t)
	later := answer(here, "later")
	keys, err := sqlite.DeliveryKeys(ctx, to, "web")
	if err != nil || len(keys) != 2 || !keys[sent.Key()] || !keys[pending.Key()] || keys[later.Key()] || keys[foreign.Key()] {
		t.Errorf("the keys are %v, %v", keys, err)
	}
}
