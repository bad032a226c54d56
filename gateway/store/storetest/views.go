package storetest

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var viewTests = []contractTest{
	{"Turns returns running, pending, dead and ended turns, newest first", func(b *fixture) {
		b.finishDone(b.receiveClaimed(ann, "1").ID)
		b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true})
		b.receiveClaimed(bob, "2")
		b.receiveQueued(ann, "3")
		dropped := b.receiveQueued(cid, "4")[0]
		_, err := b.Cancel(ctx, cid, dropped.ID)
		b.noError(err)
		b.reopen()
		b.equal("all", b.turns(store.TurnFilter{Limit: 9}), "[4 3 2 1]")
		b.equal("two", b.turns(store.TurnFilter{Limit: 2}), "[4 3]")
		b.equal("those before", b.turns(store.TurnFilter{Before: dropped.ID, Limit: 2}), "[3 2]")
		b.equal("of a chat", b.turns(store.TurnFilter{Chat: ann, Limit: 9}), "[3 1]")
		b.equal("none", b.turns(store.TurnFilter{}), "[]")
	}},
	{"turns are found by their outcome or their state", func(b *fixture) {
		for _, status := range []string{"done", "failed"} {
			b.noError(b.tryFinish(b.receiveClaimed(ann, status).ID, store.Done, store.Outcome{Status: status}))
		}
		b.noError(b.tryFinish(b.receiveClaimed(ann, "cut").ID, store.Interrupted, store.Outcome{Status: "stopped"}))
		b.receiveClaimed(bob, "runs")
		for outcome, want := range map[string]string{"done": "[done]", "failed": "[failed]", "interrupted": "[cut]", "running": "[runs]", "stopped": "[]"} {
			b.equal(outcome, b.turns(store.TurnFilter{Outcome: outcome, Limit: 9}), want)
		}
	}},
	{"the deliveries of a turn are returned in order and in every state", func(b *fixture) {
		inbound, other := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a", "b")})
		b.enqueue(store.Outbound{Inbound: other.ID, Sequence: 1, Parts: outgoingTexts(bob, "x")})
		b.settle(b.nextDelivery(ann).ID, store.Sent)
		got, err := b.Deliveries(ctx, inbound.ID)
		b.noError(err)
		b.equal("how many", len(got), 2)
		b.equal("the texts", []string{got[0].Out.Text, got[1].Out.Text}, "[a b]")
		b.equal("the states", []store.State{got[0].State, got[1].State}, "[sent pending]")
	}},
	{"the deliveries of several turns are counted by state", func(b *fixture) {
		one, two, other, silent := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2"), b.receiveClaimed(cid, "3"), b.receiveQueued(ann, "4")[0]
		b.enqueue(store.Outbound{Inbound: one.ID, Sequence: 1, Parts: outgoingTexts(ann, "a", "b", "c")})
		b.enqueue(store.Outbound{Inbound: two.ID, Sequence: 1, Parts: outgoingTexts(bob, "x")})
		b.enqueue(store.Outbound{Inbound: other.ID, Sequence: 1, Parts: outgoingTexts(cid, "y")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "of no turn")})
		b.settle(b.nextDelivery(ann).ID, store.Sent)
		b.settle(b.nextDelivery(ann).ID, store.Failed)
		got, err := b.CountDeliveries(ctx, []int64{one.ID, two.ID, silent.ID})
		b.noError(err)
		b.equal("the turns", len(got), 2)
		b.equal("of the first", got[one.ID], "map[failed:1 pending:1 sent:1]")
		b.equal("of the second", got[two.ID], "map[pending:1]")
		got, err = b.CountDeliveries(ctx, nil)
		b.noError(err)
		b.equal("of none", len(got), 0)
	}},
	{"undelivered messages are returned for all chats together", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "a")})
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "b", "c")})
		b.settle(b.nextDelivery(bob).ID, store.Failed)
		got, err := b.Undelivered(ctx, channels.Chat{}, 9)
		b.noError(err)
		var texts []string
		for _, p := range got {
			texts = append(texts, p.Out.Text)
		}
		b.equal("the texts", texts, "[c b a]")
	}},
	{"Oldest returns the longest waiting message", func(b *fixture) {
		since := func() time.Time {
			at, err := b.OldestPendingSince(ctx)
			b.noError(err)
			return at
		}
		b.equal("with nothing pending", since().IsZero(), true)
		first := b.receiveQueued(ann, "1")[0]
		b.advance(time.Second)
		second := b.receiveQueued(bob, "2")[0]
		b.equal("the oldest", since(), first.Received)
		b.claimOne()
		b.equal("the oldest left", since(), second.Received)
	}},
	{"a trace is stored with its inbound message and pruned with it", func(b *fixture) {
		inbound, plain := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{Trace: "seen"}))
		b.finishDone(plain.ID)
		b.reopen()
		b.equal("the trace", b.trace(inbound.ID), "seen")
		b.equal("of one without", b.trace(plain.ID), "")
		b.noError(b.Restart(ctx, inbound.ID))
		b.noError(b.tryFinish(b.claimOne().ID, store.Done, store.Outcome{Trace: "seen again"}))
		b.equal("the trace of a rerun", b.trace(inbound.ID), "seen again")
		b.advance(2)
		b.noError(b.Prune(ctx, store.Retention{Age: 1}))
		b.equal("once pruned", b.trace(inbound.ID), "")
	}},
}

func (b *fixture) turns(f store.TurnFilter) []string {
	b.Helper()
	inbounds, err := b.Turns(ctx, f)
	b.noError(err)
	ids := []string{}
	for _, i := range inbounds {
		ids = append(ids, i.In.ID)
	}
	return ids
}

func (b *fixture) trace(inbound int64) string {
	b.Helper()
	text, err := b.Trace(ctx, inbound)
	b.noError(err)
	return text
}
