package storetest

import (
	"reflect"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var enqueueTests = []test{
	{"a delivery is found again after a restart, whole", func(b *bench) {
		out := channels.Outgoing{
			Chat: ann, Kind: channels.Failure, Text: "hé \U0001F600", Code: "E1", ReplyTo: "5", Form: []byte{0, 255, 7},
			Media: []channels.File{{Path: "/tmp/x.png", Name: "x.png", Kind: channels.Image, Size: 9}, {Name: "long.md", Content: "…"}},
		}
		b.enqueue(store.Outbound{Inbound: 3, Sequence: 1, Parts: []channels.Outgoing{out}})
		b.reopen()
		p := b.next(ann)
		if !reflect.DeepEqual(p.Out, out) {
			b.Fatalf("got %+v, want %+v", p.Out, out)
		}
		b.equal("its inbound", p.Inbound, 3)
		b.equal("its time", p.Queued, b.now())
	}},
	{"the first part is sent at once if asked for and the chat is free", func(b *bench) {
		p, sending := b.enqueue(store.Outbound{Parts: parts(ann, "1", "2"), Claim: true})
		b.equal("sending", sending, true)
		b.equal("the delivery", p.Out.Text, "1")
		b.equal("its state and tries", []any{p.State, p.Tries}, "[sending 1]")
		b.nothingToSend(ann)
		b.settle(p.ID, store.Sent)
		b.equal("the rest", b.sendAll(ann), "[2]")
	}},
	{"nothing is sent at once unless asked for", func(b *bench) {
		_, sending := b.enqueue(store.Outbound{Parts: parts(ann, "1")})
		b.equal("sending", sending, false)
		b.equal("what is sent", b.sendAll(ann), "[1]")
	}},
	{"nothing is sent at once past what is pending or sending", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "1")})
		_, sending := b.enqueue(store.Outbound{Parts: parts(ann, "2"), Claim: true})
		b.equal("past a pending one", sending, false)
		b.enqueue(store.Outbound{Parts: parts(bob, "3"), Claim: true})
		_, sending = b.enqueue(store.Outbound{Parts: parts(bob, "4"), Claim: true})
		b.equal("past a sending one", sending, false)
		b.equal("the order", b.sendAll(ann), "[1 2]")
	}},
	{"what failed or was sent holds nobody up", func(b *bench) {
		for _, state := range []store.State{store.Sent, store.Failed, store.Unknown} {
			p, sending := b.enqueue(store.Outbound{Parts: parts(ann, "x"), Claim: true})
			b.equal("sending", sending, true)
			b.settle(p.ID, state)
		}
	}},
	{"an outbound message to two chats is refused and leaves nothing behind", func(b *bench) {
		_, _, err := b.Enqueue(ctx, store.Outbound{Parts: append(parts(ann, "1"), parts(bob, "2")...)})
		if err == nil {
			b.Fatal("it was taken")
		}
		b.nothingToSend(ann)
		b.nothingToSend(bob)
	}},
	{"an outbound message without parts is nothing to send", func(b *bench) {
		_, sending := b.enqueue(store.Outbound{Claim: true})
		b.equal("sending", sending, false)
	}},
}

var deliveryTests = []test{
	{"a chat's deliveries go in order, one at a time", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "1", "2")})
		b.enqueue(store.Outbound{Parts: parts(bob, "9")})
		b.enqueue(store.Outbound{Parts: parts(ann, "3")})
		p := b.next(ann)
		b.nothingToSend(ann)
		b.equal("another chat's", b.next(bob).Out.Text, "9")
		b.settle(p.ID, store.Sent)
		b.equal("the rest", b.sendAll(ann), "[2 3]")
	}},
	{"what is marked sending after a restart is adopted, oldest first", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(bob, "1", "2"), Claim: true})
		b.enqueue(store.Outbound{Parts: parts(ann, "3"), Claim: true})
		b.reopen()
		flying := b.adopt().Deliveries
		b.equal("how many", len(flying), 2)
		b.equal("the deliveries", []string{flying[0].Out.Text, flying[1].Out.Text}, "[1 3]")
		b.equal("state and tries", []any{flying[0].State, flying[0].Tries}, "[sending 1]")
		b.nothingToSend(bob)
	}},
	{"a delivery put off is not taken too early, and says when", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "1", "2")})
		at := b.now().Add(time.Minute)
		b.must(b.settled(b.next(ann).ID, store.Pending, "", "429", time.Minute))
		b.pass(20 * time.Second)
		b.reopen()
		p, found, err := b.NextDelivery(ctx, ann)
		b.must(err)
		b.equal("found, text, state, time, wait", []any{found, p.Out.Text, p.State, p.NotBefore, p.Wait},
			[]any{false, "1", store.Pending, at, 40 * time.Second})
		b.equal("how many are in flight", len(b.adopt().Deliveries), 0)
		b.pass(time.Minute)
		p = b.next(ann)
		b.equal("text, tries, reason, age", []any{p.Out.Text, p.Tries, p.Err, p.Age}, "[1 2 429 1m20s]")
	}},
	{"chats to send to come by key, a page at a time, each once", func(b *bench) {
		for _, c := range []channels.Chat{cid, ann, bob} {
			b.enqueue(store.Outbound{Parts: parts(c, "1", "2")})
		}
		b.enqueue(store.Outbound{Parts: parts(channels.Chat{Channel: "net", ID: "b:c"}, "1")})
		b.enqueue(store.Outbound{Parts: parts(channels.Chat{Channel: "net", ID: "zoe"}, "1"), Claim: true})
		page, err := b.ChatsToSend(ctx, "", 2)
		b.must(err)
		b.equal("the first page", page, "[net:ann net:b:c]")
		page, err = b.ChatsToSend(ctx, page[1].String(), 5)
		b.must(err)
		b.equal("the rest", page, "[net:bob net:cid]")
		if page[0] != bob {
			b.Fatalf("the chat is %+v", page[0])
		}
		page, err = b.ChatsToSend(ctx, "net:cid", 5)
		b.must(err)
		b.equal("what comes after", len(page), 0)
	}},
	{"the undelivered are the newest that are pending, failed or unknown", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "sent", "failed", "unknown", "sending", "pending")})
		b.enqueue(store.Outbound{Parts: parts(bob, "other")})
		b.settle(b.next(ann).ID, store.Sent)
		b.must(b.settled(b.next(ann).ID, store.Failed, "", "blocked", 0))
		b.settle(b.next(ann).ID, store.Unknown)
		b.next(ann)
		got, err := b.Undelivered(ctx, ann, 10)
		b.must(err)
		b.equal("how many", len(got), 3)
		b.equal("the deliveries", []string{got[0].Out.Text, got[1].Out.Text, got[2].Out.Text}, "[pending unknown failed]")
		b.equal("the reason", got[2].Err, "blocked")
		got, err = b.Undelivered(ctx, ann, 1)
		b.must(err)
		b.equal("the newest", got[0].Out.Text, "pending")
	}},
}

var settleTests = []test{
	{"it is said whether the chat has more to send", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "a", "b")})
		b.enqueue(store.Outbound{Parts: parts(bob, "x")})
		for _, want := range []bool{true, false} {
			more, err := b.Settle(ctx, b.next(ann).ID, store.Settlement{State: store.Sent})
			b.must(err)
			b.equal("more", more, want)
		}
		more, err := b.Settle(ctx, b.next(bob).ID, store.Settlement{State: store.Pending, After: time.Hour})
		b.must(err)
		b.equal("more, when it is to be tried again", more, true)
	}},
	{"what was sent, failed or is unknown is not sent again", func(b *bench) {
		for _, state := range []store.State{store.Sent, store.Failed, store.Unknown} {
			p, _ := b.enqueue(store.Outbound{Parts: parts(ann, "x"), Claim: true})
			b.must(b.settled(p.ID, state, "r9", "why", 0))
			b.reopen()
			b.nothingToSend(ann)
			b.equal("how many are in flight", len(b.adopt().Deliveries), 0)
		}
	}},
	{"a delivery made pending again keeps its place before later ones", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "1", "2")})
		b.settle(b.next(ann).ID, store.Pending)
		b.enqueue(store.Outbound{Parts: parts(ann, "3")})
		b.equal("the order", b.sendAll(ann), "[1 2 3]")
	}},
	{"the receipt and the reason are kept", func(b *bench) {
		p, _ := b.enqueue(store.Outbound{Parts: parts(ann, "x"), Claim: true})
		b.must(b.settled(p.ID, store.Unknown, "r9", "cut off", 0))
		got, err := b.Undelivered(ctx, ann, 1)
		b.must(err)
		b.equal("receipt and reason", []string{got[0].Receipt, got[0].Err}, "[r9 cut off]")
	}},
	{"that a try may have been carried out is kept with the delivery, until it is settled otherwise", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "x")})
		for _, doubtful := range []bool{false, true, true, false} {
			_, err := b.Settle(ctx, b.next(ann).ID, store.Settlement{State: store.Pending, Reason: "why", Doubtful: doubtful})
			b.must(err)
			b.reopen()
			got, err := b.Undelivered(ctx, ann, 1)
			b.must(err)
			b.equal("doubtful", got[0].Doubtful, doubtful)
		}
		_, err := b.Settle(ctx, b.next(ann).ID, store.Settlement{State: store.Unknown, Doubtful: true})
		b.must(err)
		got, err := b.Undelivered(ctx, ann, 1)
		b.must(err)
		b.equal("doubtful, of what is unknown for good", got[0].Doubtful, true)
	}},
	{"a pending delivery can be settled unsent", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "1", "2")})
		got, err := b.Undelivered(ctx, ann, 9)
		b.must(err)
		b.settle(got[1].ID, store.Failed)
		b.equal("what is sent", b.sendAll(ann), "[2]")
	}},
	{"a settled delivery stays as it is", func(b *bench) {
		for _, state := range []store.State{store.Sent, store.Failed, store.Unknown} {
			p, _ := b.enqueue(store.Outbound{Parts: parts(ann, "x"), Claim: true})
			b.settle(p.ID, state)
			for _, then := range []store.State{store.Pending, store.Sent, store.Failed, store.Unknown} {
				b.refused(b.settled(p.ID, then, "", "", 0))
			}
		}
	}},
	{"a send cannot end as something that is no end", func(b *bench) {
		p, _ := b.enqueue(store.Outbound{Parts: parts(ann, "x"), Claim: true})
		for _, state := range []store.State{store.Sending, store.Done, "nonsense"} {
			b.refused(b.settled(p.ID, state, "", "", 0))
		}
		b.refused(b.settled(99, store.Sent, "", "", 0))
	}},
}
