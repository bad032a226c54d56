package storetest

import (
	"strconv"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var retentionTests = []test{
	{"finished inbounds go when they are too old, younger ones stay", func(b *bench) {
		b.done(b.running(ann, "old").ID)
		b.pass(time.Hour)
		b.done(b.running(ann, "young").ID)
		b.must(b.Prune(ctx, store.Retention{Age: time.Hour}))
		b.reopen()
		b.equal("what is left", b.ids(ann), "[young]")
	}},
	{"at most so many finished inbounds stay, the newest", func(b *bench) {
		for i := range 5 {
			b.done(b.running(ann, strconv.Itoa(i)).ID)
		}
		b.must(b.Prune(ctx, store.Retention{Count: 2}))
		b.equal("what is left", b.ids(ann), "[4 3]")
	}},
	{"without limits everything stays", func(b *bench) {
		b.talk(ann, "1", "a")
		b.pass(10000 * time.Hour)
		b.must(b.Prune(ctx, store.Retention{}))
		b.equal("what is left", b.ids(ann), "[1]")
		b.equal("what was said", b.said(ann, 9), "[user: 1 agent: a]")
	}},
	{"what is pending or running stays, however old", func(b *bench) {
		b.running(ann, "1")
		b.queue(ann, "2")
		b.enqueue(store.Outbound{Parts: parts(ann, "a", "b")})
		sending := b.next(ann)
		b.ask("q", bob)
		b.pass(10000 * time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("the inbounds", b.ids(ann), "[2 1]")
		b.settle(sending.ID, store.Sent)
		b.equal("what is sent", b.sendAll(ann), "[b]")
		b.equal("the open question", b.openQuestion(bob), "q")
	}},
	{"a message that was pruned is still a duplicate", func(b *bench) {
		b.done(b.running(ann, "1").ID)
		b.pass(30 * 24 * time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: time.Hour}))
		b.reopen()
		inbound, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Claim: true})
		b.equal("the result", result, store.Duplicate)
		b.equal("the inbound", inbound.ID, 0)
		b.equal("what is left", b.ids(ann), "[]")
	}},
	{"a pruned id is not used again", func(b *bench) {
		first := b.running(ann, "1")
		b.done(first.ID)
		b.pass(time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: 1}))
		b.reopen()
		if second := b.running(ann, "2"); second.ID <= first.ID {
			b.Fatalf("id %d after %d", second.ID, first.ID)
		}
	}},
	{"settled deliveries go", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "a", "b")})
		b.settle(b.next(ann).ID, store.Failed)
		b.settle(b.next(ann).ID, store.Unknown)
		b.pass(time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: time.Minute}))
		got, err := b.Undelivered(ctx, ann, 9)
		b.must(err)
		b.equal("how many are left", len(got), 0)
	}},
	{"settled deliveries go before the inbound they answered, if that is done", func(b *bench) {
		inbound := b.running(ann, "1")
		p, _ := b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a"), Claim: true})
		b.settle(p.ID, store.Failed)
		b.pass(time.Hour)
		b.done(inbound.ID)
		b.must(b.Prune(ctx, store.Retention{Age: time.Minute}))
		got, err := b.Undelivered(ctx, ann, 9)
		b.must(err)
		b.equal("how many are left", len(got), 0)
		b.equal("the inbounds", b.ids(ann), "[1]")
	}},
	{"what an unfinished or interrupted inbound has sent is kept for its rerun", func(b *bench) {
		for _, end := range []store.State{store.Running, store.Interrupted} {
			chat := channels.Chat{Channel: "net", ID: string(end)}
			inbound := b.running(chat, "1")
			l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(chat, "a", "b")}
			b.enqueue(l)
			b.sendAll(chat)
			b.pass(time.Hour)
			if end == store.Interrupted {
				b.must(b.finish(inbound.ID, end, store.Outcome{}))
			}
			b.must(b.Prune(ctx, store.Retention{Age: time.Minute, Count: 1}))
			b.rerun(inbound.ID)
			b.enqueue(l)
			b.nothingToSend(chat)
			b.done(inbound.ID)
		}
	}},
	{"old entries and questions go", func(b *bench) {
		b.talk(ann, "1", "a")
		b.ask("answered", ann)
		b.answer("answered", "yes", "7")
		b.must(b.Ask(ctx, store.Question{ID: "expired", Chat: ann, Within: time.Second}, store.Outbound{}))
		b.pass(time.Hour)
		b.talk(ann, "2", "b")
		b.must(b.Prune(ctx, store.Retention{Age: time.Minute}))
		b.equal("what was said", b.said(ann, 9), "[user: 2 agent: b]")
		for _, id := range []string{"answered", "expired"} {
			_, found, err := b.Question(ctx, id)
			b.must(err)
			b.equal("question "+id+" is found", found, false)
		}
	}},
	{"who was let in stays", func(b *bench) {
		b.accepted(b.requestPairing("net", "7"))
		b.pass(10000 * time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("allowed", b.allowed("net", "7"), true)
	}},
	{"a long past is pruned whole", func(b *bench) {
		const n = 1200
		for i := range n {
			b.receive(store.ReceiveRequest{In: incoming(ann, strconv.Itoa(i)), Settle: true})
		}
		b.pass(time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: time.Minute}))
		b.equal("what is left", b.ids(ann), "[]")
	}},
}
