package storetest

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var viewTests = []test{
	{"turns are what runs, waits, was dropped or has run, newest first", func(b *bench) {
		b.done(b.running(ann, "1").ID)
		b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true})
		b.running(bob, "2")
		b.queue(ann, "3")
		dropped := b.queue(cid, "4")[0]
		_, err := b.Cancel(ctx, cid, dropped.ID)
		b.must(err)
		b.reopen()
		b.equal("all", b.turns(store.TurnFilter{Limit: 9}), "[4 3 2 1]")
		b.equal("two", b.turns(store.TurnFilter{Limit: 2}), "[4 3]")
		b.equal("those before", b.turns(store.TurnFilter{Before: dropped.ID, Limit: 2}), "[3 2]")
		b.equal("of a chat", b.turns(store.TurnFilter{Chat: ann, Limit: 9}), "[3 1]")
		b.equal("none", b.turns(store.TurnFilter{}), "[]")
	}},
	{"turns are found by how they ended, or are not", func(b *bench) {
		for _, status := range []string{"done", "failed"} {
			b.must(b.finish(b.running(ann, status).ID, store.Done, store.Outcome{Status: status}))
		}
		b.must(b.finish(b.running(ann, "cut").ID, store.Interrupted, store.Outcome{Status: "stopped"}))
		b.running(bob, "runs")
		for outcome, want := range map[string]string{"done": "[done]", "failed": "[failed]", "interrupted": "[cut]", "running": "[runs]", "stopped": "[]"} {
			b.equal(outcome, b.turns(store.TurnFilter{Outcome: outcome, Limit: 9}), want)
		}
	}},
	{"the deliveries of a turn are found in order, whatever became of them", func(b *bench) {
		inbound, other := b.running(ann, "1"), b.running(bob, "2")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a", "b")})
		b.enqueue(store.Outbound{Inbound: other.ID, Sequence: 1, Parts: parts(bob, "x")})
		b.settle(b.next(ann).ID, store.Sent)
		got, err := b.Deliveries(ctx, inbound.ID)
		b.must(err)
		b.equal("how many", len(got), 2)
		b.equal("the texts", []string{got[0].Out.Text, got[1].Out.Text}, "[a b]")
		b.equal("the states", []store.State{got[0].State, got[1].State}, "[sent pending]")
	}},
	{"the deliveries of several turns are counted by state", func(b *bench) {
		one, two, other, silent := b.running(ann, "1"), b.running(bob, "2"), b.running(cid, "3"), b.queue(ann, "4")[0]
		b.enqueue(store.Outbound{Inbound: one.ID, Sequence: 1, Parts: parts(ann, "a", "b", "c")})
		b.enqueue(store.Outbound{Inbound: two.ID, Sequence: 1, Parts: parts(bob, "x")})
		b.enqueue(store.Outbound{Inbound: other.ID, Sequence: 1, Parts: parts(cid, "y")})
		b.enqueue(store.Outbound{Parts: parts(ann, "of no turn")})
		b.settle(b.next(ann).ID, store.Sent)
		b.settle(b.next(ann).ID, store.Failed)
		got, err := b.CountDeliveries(ctx, []int64{one.ID, two.ID, silent.ID})
		b.must(err)
		b.equal("the turns", len(got), 2)
		b.equal("of the first", got[one.ID], "map[failed:1 pending:1 sent:1]")
		b.equal("of the second", got[two.ID], "map[pending:1]")
		got, err = b.CountDeliveries(ctx, nil)
		b.must(err)
		b.equal("of none", len(got), 0)
	}},
	{"what is undelivered is found for all chats together", func(b *bench) {
		b.enqueue(store.Outbound{Parts: parts(ann, "a")})
		b.enqueue(store.Outbound{Parts: parts(bob, "b", "c")})
		b.settle(b.next(bob).ID, store.Failed)
		got, err := b.Undelivered(ctx, channels.Chat{}, 9)
		b.must(err)
		var texts []string
		for _, p := range got {
			texts = append(texts, p.Out.Text)
		}
		b.equal("the texts", texts, "[c b a]")
	}},
	{"the one that waits longest is known", func(b *bench) {
		since := func() time.Time {
			at, err := b.Oldest(ctx)
			b.must(err)
			return at
		}
		b.equal("with nothing pending", since().IsZero(), true)
		first := b.queue(ann, "1")[0]
		b.pass(time.Second)
		second := b.queue(bob, "2")[0]
		b.equal("the oldest", since(), first.Received)
		b.claim()
		b.equal("the oldest left", since(), second.Received)
	}},
	{"a trace is kept with its inbound, and goes with it", func(b *bench) {
		inbound, plain := b.running(ann, "1"), b.running(bob, "2")
		b.must(b.finish(inbound.ID, store.Done, store.Outcome{Trace: "seen"}))
		b.done(plain.ID)
		b.reopen()
		b.equal("the trace", b.trace(inbound.ID), "seen")
		b.equal("of one without", b.trace(plain.ID), "")
		b.must(b.Restart(ctx, inbound.ID))
		b.must(b.finish(b.claim().ID, store.Done, store.Outcome{Trace: "seen again"}))
		b.equal("the trace of a rerun", b.trace(inbound.ID), "seen again")
		b.pass(2)
		b.must(b.Prune(ctx, store.Retention{Age: 1}))
		b.equal("once pruned", b.trace(inbound.ID), "")
	}},
}

func (b *bench) turns(f store.TurnFilter) []string {
	b.Helper()
	inbounds, err := b.Turns(ctx, f)
	b.must(err)
	ids := []string{}
	for _, i := range inbounds {
		ids = append(ids, i.In.ID)
	}
	return ids
}

func (b *bench) trace(inbound int64) string {
	b.Helper()
	text, err := b.Trace(ctx, inbound)
	b.must(err)
	return text
}
