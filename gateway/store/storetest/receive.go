package storetest

import (
	"reflect"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var receiveTests = []test{
	{"what was received is found again after a restart, whole", func(b *bench) {
		in := channels.Incoming{
			Chat: ann, ID: "1", Text: "hé\x00 \U0001F600", User: channels.User{ID: "7", Name: "Ann", Username: "ann7"},
			Media: []string{"/tmp/a.png"}, ThreadID: "45", ReplyTo: &channels.Quote{ID: "0", Text: "before", Media: []string{"/tmp/b"}},
		}
		inbound, result := b.receive(store.ReceiveRequest{In: in})
		b.equal("the result", result, store.Queued)
		b.reopen()
		got := b.inbound(inbound.ID)
		if !reflect.DeepEqual(got.In, in) {
			b.Fatalf("got %+v, want %+v", got.In, in)
		}
		if !reflect.DeepEqual(got, inbound) {
			b.Fatalf("Receive returned %+v, the store holds %+v", inbound, got)
		}
		b.equal("its state", got.State, store.Pending)
		b.equal("its attempt", got.Attempt, 0)
		b.equal("its time", got.Received, b.now())
		b.equal("its start and end", []bool{got.Started.IsZero(), got.Ended.IsZero()}, "[true true]")
	}},
	{"times are kept to the microsecond and in UTC", func(b *bench) {
		b.pass(1234567 * time.Nanosecond)
		inbound := b.queue(ann, "1")[0]
		b.reopen()
		got := b.inbound(inbound.ID).Received
		b.equal("the time", got, b.now().Truncate(time.Microsecond))
	}},
	{"the same message again is a duplicate and gives the first inbound", func(b *bench) {
		first := b.queue(ann, "1")[0]
		again, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Claim: true})
		b.equal("the result", result, store.Duplicate)
		b.equal("the inbound", again.ID, first.ID)
		b.equal("the inbounds of the chat", b.ids(ann), "[1]")
	}},
	{"a duplicate stays one after a restart and after its turn", func(b *bench) {
		b.done(b.running(ann, "1").ID)
		b.reopen()
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Settle: true, Answer: parts(ann, "no")})
		b.equal("the result", result, store.Duplicate)
		b.nothingToClaim()
		b.nothingToSend(ann)
	}},
	{"the same id in another chat is another message", func(b *bench) {
		b.queue(ann, "1")
		b.queue(bob, "1")
		b.queue(channels.Chat{Channel: "other", ID: "ann"}, "1")
	}},
	{"messages without an id are never duplicates", func(b *bench) {
		b.queue(ann, "", "")
		b.equal("how many wait", b.waiting(ann), 2)
	}},
	{"what a message asks for is done with it, once", func(b *bench) {
		b.done(b.running(ann, "1").ID)
		b.ask("q", ann)
		a := store.ReceiveRequest{In: incoming(ann, "2"), Settle: true, Restart: 1, StartConversation: true, Reply: &store.Reply{Question: "q", Text: "yes", By: "7"}}
		_, result := b.receive(a)
		b.equal("the result", result, store.Settled)
		b.reopen()
		entries, err := b.History(ctx, ann, 9, 0)
		b.must(err)
		b.equal("the entries", len(entries), 0)
		q, _, err := b.Question(ctx, "q")
		b.must(err)
		b.equal("the answer", *q.Answer, "yes")
		b.done(b.claim().ID)
		b.receive(a)
		b.nothingToClaim()
	}},
	{"a message may cancel what its chat has pending, once", func(b *bench) {
		running := b.running(ann, "1")
		waiting := b.queue(ann, "2")[0]
		other := b.queue(bob, "3")[0]
		b.receive(store.ReceiveRequest{In: incoming(ann, "/stop"), Settle: true, Cancel: true})
		b.reopen()
		b.adopt()
		b.equal("what waited", b.inbound(waiting.ID).State, store.Dead)
		b.equal("what runs", b.inbound(running.ID).State, store.Running)
		b.equal("that it was told to stop", b.inbound(running.ID).Outcome.Status, "stopped")
		b.equal("another chat's", b.inbound(other.ID).State, store.Pending)
		b.queue(ann, "4")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "/stop"), Settle: true, Cancel: true})
		b.equal("the result on the second", result, store.Duplicate)
		b.done(running.ID)
		b.equal("who is left", []string{b.claim().In.ID, b.claim().In.ID}, "[3 4]")
	}},
	{"an answer that comes too late is a message like others", func(b *bench) {
		b.ask("q", ann)
		reply := func(id string) *store.Reply { return &store.Reply{Question: "q", Text: id, By: "7"} }
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Claim: true, Reply: reply("1")})
		b.equal("the result on the first", result, store.Settled)
		_, result = b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Claim: true, Reply: reply("2")})
		b.equal("the result on the second", result, store.Claimed)
		_, result = b.receive(store.ReceiveRequest{In: incoming(ann, "3"), Reply: reply("3")})
		b.equal("the result on the third", result, store.Queued)
	}},
	{"a message that asks for what is not possible is stored all the same", func(b *bench) {
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Settle: true, Restart: 99, Reply: &store.Reply{Question: "none"}})
		b.equal("the result", result, store.Settled)
		b.equal("the inbounds of the chat", b.ids(ann), "[1]")
	}},
	{"a channel without a cursor has an empty one", func(b *bench) {
		b.equal("the cursor", b.cursor("net"), "")
	}},
	{"the cursor moves with the message, of its channel only", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Cursor: "41"})
		b.must(b.SetCursor(ctx, "other", "x"))
		b.reopen()
		b.equal("the cursor", b.cursor("net"), "41")
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.equal("the cursor after a message without one", b.cursor("net"), "41")
		b.must(b.SetCursor(ctx, "net", "44"))
		b.equal("the cursor", b.cursor("net"), "44")
		b.equal("the other channel's", b.cursor("other"), "x")
	}},
	{"a duplicate moves the cursor and nothing else", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Cursor: "41"})
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Cursor: "42"})
		b.equal("the cursor", b.cursor("net"), "42")
		b.equal("how many wait", b.waiting(ann), 1)
	}},
	{"a settled request is done, and its answer waits to be sent", func(b *bench) {
		inbound, result := b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true, Claim: true, Answer: parts(ann, "one", "two")})
		b.equal("the result", result, store.Settled)
		b.reopen()
		b.equal("its state", b.inbound(inbound.ID).State, store.Done)
		b.equal("its end", b.inbound(inbound.ID).Ended, b.now())
		b.nothingToClaim()
		p := b.next(ann)
		b.equal("the delivery's inbound", p.Inbound, inbound.ID)
		b.settle(p.ID, store.Sent)
		b.equal("the rest", b.sendAll(ann), "[two]")
	}},
	{"a settled request passes a chat that is at work", func(b *bench) {
		b.running(ann, "1")
		b.queue(ann, "2")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "/status"), Settle: true})
		b.equal("the result", result, store.Settled)
		b.equal("how many wait", b.waiting(ann), 1)
	}},
	{"an unknown inbound is not found", func(b *bench) {
		_, found, err := b.Inbound(ctx, 99)
		b.must(err)
		b.equal("found", found, false)
	}},
	{"recent inbounds come newest first, only of the chat, at most so many", func(b *bench) {
		b.queue(ann, "1", "2", "3")
		b.queue(bob, "4")
		inbounds, err := b.Recent(ctx, ann, 2)
		b.must(err)
		b.equal("the inbounds", []string{inbounds[0].In.ID, inbounds[1].In.ID}, "[3 2]")
		b.equal("how many", len(inbounds), 2)
	}},
	{"the waiting are counted by chat and together", func(b *bench) {
		b.queue(ann, "1", "2", "3")
		b.queue(bob, "4")
		b.claim()
		b.equal("those of one chat", b.waiting(ann), 2)
		b.equal("all", b.waiting(channels.Chat{}), 3)
	}},
}

func (b *bench) cursor(channel string) string {
	b.Helper()
	c, err := b.Cursor(ctx, channel)
	b.must(err)
	return c
}

func (b *bench) waiting(chat channels.Chat) int {
	b.Helper()
	n, err := b.Waiting(ctx, chat)
	b.must(err)
	return n
}

// ids are the message ids of a chat, newest first.
func (b *bench) ids(chat channels.Chat) []string {
	b.Helper()
	inbounds, err := b.Recent(ctx, chat, 100)
	b.must(err)
	ids := []string{}
	for _, i := range inbounds {
		ids = append(ids, i.In.ID)
	}
	return ids
}
