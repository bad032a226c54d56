package storetest

import (
	"reflect"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var enqueueTests = []contractTest{
	{"a delivery is complete after a restart", func(b *fixture) {
		out := channels.Outgoing{
			Chat: ann, Kind: channels.Failure, Text: "hé \U0001F600", Format: channels.Code, Code: "E1", ReplyTo: "5", Form: []byte{0, 255, 7},
			Media: []channels.File{{Path: "/tmp/x.png", Name: "x.png", Kind: channels.Image, Size: 9}, {Name: "long.md", Content: "…"}},
		}
		b.enqueue(store.Outbound{Inbound: 3, Sequence: 1, Parts: []channels.Outgoing{out}})
		b.reopen()
		p := b.nextDelivery(ann)
		if !reflect.DeepEqual(p.Out, out) {
			b.Fatalf("got %+v, want %+v", p.Out, out)
		}
		b.equal("its inbound", p.Inbound, 3)
		b.equal("its time", p.Queued, b.now())
	}},
	{"the first part is claimed if Claim is set and the chat has nothing to send", func(b *fixture) {
		p, sending := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1", "2"), Claim: true})
		b.equal("sending", sending, true)
		b.equal("the delivery", p.Out.Text, "1")
		b.equal("its state and tries", []any{p.State, p.Tries}, "[sending 1]")
		b.nothingToSend(ann)
		b.settle(p.ID, store.Sent)
		b.equal("the rest", b.sendAll(ann), "[2]")
	}},
	{"nothing is claimed unless Claim is set", func(b *fixture) {
		_, sending := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1")})
		b.equal("sending", sending, false)
		b.equal("what is sent", b.sendAll(ann), "[1]")
	}},
	{"nothing is claimed ahead of pending or sending deliveries", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1")})
		_, sending := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "2"), Claim: true})
		b.equal("past a pending one", sending, false)
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "3"), Claim: true})
		_, sending = b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "4"), Claim: true})
		b.equal("past a sending one", sending, false)
		b.equal("the order", b.sendAll(ann), "[1 2]")
	}},
	{"failed and sent deliveries do not block later ones", func(b *fixture) {
		for _, state := range []store.State{store.Sent, store.Failed, store.Unknown} {
			p, sending := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "x"), Claim: true})
			b.equal("sending", sending, true)
			b.settle(p.ID, state)
		}
	}},
	{"an outbound message to two chats is refused, and nothing of it is stored", func(b *fixture) {
		_, _, err := b.Enqueue(ctx, store.Outbound{Parts: append(outgoingTexts(ann, "1"), outgoingTexts(bob, "2")...)})
		if err == nil {
			b.Fatal("it was enqueued")
		}
		b.nothingToSend(ann)
		b.nothingToSend(bob)
	}},
	{"an outbound message without parts is nothing to send", func(b *fixture) {
		_, sending := b.enqueue(store.Outbound{Claim: true})
		b.equal("sending", sending, false)
	}},
}

var deliveryTests = []contractTest{
	{"a chat's deliveries are sent in order, one at a time", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1", "2")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "9")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "3")})
		p := b.nextDelivery(ann)
		b.nothingToSend(ann)
		b.equal("another chat's", b.nextDelivery(bob).Out.Text, "9")
		b.settle(p.ID, store.Sent)
		b.equal("the rest", b.sendAll(ann), "[2 3]")
	}},
	{"sending deliveries are adopted after a restart, oldest first", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "1", "2"), Claim: true})
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "3"), Claim: true})
		b.reopen()
		flying := b.adopt().Deliveries
		b.equal("how many", len(flying), 2)
		b.equal("the deliveries", []string{flying[0].Out.Text, flying[1].Out.Text}, "[1 3]")
		b.equal("state and tries", []any{flying[0].State, flying[0].Tries}, "[sending 1]")
		b.nothingToSend(bob)
	}},
	{"a delayed delivery is not claimed too early, and has the time to wait", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1", "2")})
		at := b.now().Add(time.Minute)
		b.noError(b.trySettle(b.nextDelivery(ann).ID, store.Pending, "", "429", time.Minute))
		b.advance(20 * time.Second)
		b.reopen()
		p, found, err := b.NextDelivery(ctx, ann, 0)
		b.noError(err)
		b.equal("found, text, state, time, wait", []any{found, p.Out.Text, p.State, p.NotBefore, p.Wait},
			[]any{false, "1", store.Pending, at, 40 * time.Second})
		b.equal("how many are in flight", len(b.adopt().Deliveries), 0)
		b.advance(time.Minute)
		p = b.nextDelivery(ann)
		b.equal("text, tries, reason, age", []any{p.Out.Text, p.Tries, p.Err, p.Age}, "[1 2 429 1m20s]")
	}},
	{"NextDeliveryAfter skips deliveries, except one that is being sent", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1", "2", "3")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "other")})
		first := b.nextDelivery(ann)
		_, found, err := b.NextDelivery(ctx, ann, first.ID)
		b.equal("found while one is sent, error", []any{found, err}, []any{false, nil})
		b.noError(b.trySettle(first.ID, store.Pending, "", "429", time.Minute))
		p, found, err := b.NextDelivery(ctx, ann, first.ID)
		b.equal("found, error, text, state", []any{found, err, p.Out.Text, p.State}, []any{true, nil, "2", store.Sending})
		b.settle(p.ID, store.Sent)
		_, found, err = b.NextDelivery(ctx, ann, p.ID+1)
		b.equal("found after the last, error", []any{found, err}, []any{false, nil})
		b.nothingToSend(ann)
		b.advance(time.Minute)
		b.equal("all", b.sendAll(ann), "[1 3]")
	}},
	{"ChatsToSend returns each chat once, ordered by key, a page at a time", func(b *fixture) {
		for _, c := range []channels.Chat{cid, ann, bob} {
			b.enqueue(store.Outbound{Parts: outgoingTexts(c, "1", "2")})
		}
		b.enqueue(store.Outbound{Parts: outgoingTexts(channels.Chat{Channel: "net", ID: "b:c"}, "1")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(channels.Chat{Channel: "net", ID: "zoe"}, "1"), Claim: true})
		page, err := b.ChatsToSend(ctx, "", 2)
		b.noError(err)
		b.equal("the first page", page, "[net:ann net:b:c]")
		page, err = b.ChatsToSend(ctx, page[1].String(), 5)
		b.noError(err)
		b.equal("the rest", page, "[net:bob net:cid]")
		if page[0] != bob {
			b.Fatalf("the chat is %+v", page[0])
		}
		page, err = b.ChatsToSend(ctx, "net:cid", 5)
		b.noError(err)
		b.equal("what comes after", len(page), 0)
	}},
	{"Undelivered returns the newest pending, failed and unknown deliveries", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "sent", "failed", "unknown", "sending", "pending")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "other")})
		b.settle(b.nextDelivery(ann).ID, store.Sent)
		b.noError(b.trySettle(b.nextDelivery(ann).ID, store.Failed, "", "blocked", 0))
		b.settle(b.nextDelivery(ann).ID, store.Unknown)
		b.nextDelivery(ann)
		got, err := b.Undelivered(ctx, ann, 10)
		b.noError(err)
		b.equal("how many", len(got), 3)
		b.equal("the deliveries", []string{got[0].Out.Text, got[1].Out.Text, got[2].Out.Text}, "[pending unknown failed]")
		b.equal("the reason", got[2].Err, "blocked")
		got, err = b.Undelivered(ctx, ann, 1)
		b.noError(err)
		b.equal("the newest", got[0].Out.Text, "pending")
	}},
}

var settleTests = []contractTest{
	{"Settle reports whether the chat has more to send", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "a", "b")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "x")})
		for _, want := range []bool{true, false} {
			more, err := b.Settle(ctx, b.nextDelivery(ann).ID, store.Settlement{State: store.Sent})
			b.noError(err)
			b.equal("more", more, want)
		}
		more, err := b.Settle(ctx, b.nextDelivery(bob).ID, store.Settlement{State: store.Pending, After: time.Hour})
		b.noError(err)
		b.equal("more, when it is to be tried again", more, true)
	}},
	{"sent, failed and unknown deliveries are not sent again", func(b *fixture) {
		for _, state := range []store.State{store.Sent, store.Failed, store.Unknown} {
			p, _ := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "x"), Claim: true})
			b.noError(b.trySettle(p.ID, state, "r9", "why", 0))
			b.reopen()
			b.nothingToSend(ann)
			b.equal("how many are in flight", len(b.adopt().Deliveries), 0)
		}
	}},
	{"a delivery that is pending again stays ahead of later ones", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1", "2")})
		b.settle(b.nextDelivery(ann).ID, store.Pending)
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "3")})
		b.equal("the order", b.sendAll(ann), "[1 2 3]")
	}},
	{"the receipt and the reason are stored", func(b *fixture) {
		p, _ := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "x"), Claim: true})
		b.noError(b.trySettle(p.ID, store.Unknown, "r9", "cut off", 0))
		got, err := b.Undelivered(ctx, ann, 1)
		b.noError(err)
		b.equal("receipt and reason", []string{got[0].Receipt, got[0].Err}, "[r9 cut off]")
	}},
	{"a delivery stays doubtful until it is settled otherwise", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "x")})
		for _, doubtful := range []bool{false, true, true, false} {
			_, err := b.Settle(ctx, b.nextDelivery(ann).ID, store.Settlement{State: store.Pending, Reason: "why", Doubtful: doubtful})
			b.noError(err)
			b.reopen()
			got, err := b.Undelivered(ctx, ann, 1)
			b.noError(err)
			b.equal("doubtful", got[0].Doubtful, doubtful)
		}
		_, err := b.Settle(ctx, b.nextDelivery(ann).ID, store.Settlement{State: store.Unknown, Doubtful: true})
		b.noError(err)
		got, err := b.Undelivered(ctx, ann, 1)
		b.noError(err)
		b.equal("doubtful, of a delivery that stays unknown", got[0].Doubtful, true)
	}},
	{"a pending delivery can be settled without a send", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "1", "2")})
		got, err := b.Undelivered(ctx, ann, 9)
		b.noError(err)
		b.settle(got[1].ID, store.Failed)
		b.equal("what is sent", b.sendAll(ann), "[2]")
	}},
	{"a settled delivery cannot be settled again", func(b *fixture) {
		for _, state := range []store.State{store.Sent, store.Failed, store.Unknown} {
			p, _ := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "x"), Claim: true})
			b.settle(p.ID, state)
			for _, then := range []store.State{store.Pending, store.Sent, store.Failed, store.Unknown} {
				b.checkErrState(b.trySettle(p.ID, then, "", "", 0))
			}
		}
	}},
	{"a send cannot end as sending or in a state that is not a delivery's", func(b *fixture) {
		p, _ := b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "x"), Claim: true})
		for _, state := range []store.State{store.Sending, store.Done, "nonsense"} {
			b.checkErrState(b.trySettle(p.ID, state, "", "", 0))
		}
		b.checkErrState(b.trySettle(99, store.Sent, "", "", 0))
	}},
}
