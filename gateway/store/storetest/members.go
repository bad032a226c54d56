package storetest

import (
	"nanobot/channels"
	"nanobot/gateway/store"
)

// beside opens a second handle on the same state: another member.
func (b *bench) beside() *bench {
	b.Helper()
	other := &bench{T: b.T, dir: b.dir, open: b.open, time: b.now()}
	other.Store = b.open(b.T, Options{Dir: b.dir, Now: other.now, Beside: true})
	b.Cleanup(func() {
		if err := other.Close(); err != nil {
			b.Errorf("close the second handle: %v", err)
		}
	})
	return other
}

var memberTests = []test{
	{"no two handles are the same member", func(b *bench) {
		names := map[string]bool{b.Member(): true, b.beside().Member(): true}
		b.reopen()
		names[b.Member()] = true
		b.equal("how many names", len(names), 3)
	}},
	{"what is claimed belongs to its member until it ends", func(b *bench) {
		claimed := b.running(ann, "1")
		b.queue(bob, "2")
		b.equal("the owners", []string{claimed.Owner, b.claim().Owner}, []string{b.Member(), b.Member()})
		b.equal("the owner as it is stored", b.inbound(claimed.ID).Owner, b.Member())
		b.done(claimed.ID)
		b.equal("the owner of what has ended", b.inbound(claimed.ID).Owner, "")
		b.must(b.Restart(ctx, claimed.ID))
		b.equal("the owner of what is pending", b.inbound(claimed.ID).Owner, "")
	}},
	{"a message says which member runs its chat, and how many wait", func(b *bench) {
		first := b.running(ann, "1")
		other := b.beside()
		for n, id := range []string{"2", "3"} {
			r, err := other.Receive(ctx, store.ReceiveRequest{In: incoming(ann, id), Claim: true})
			b.must(err)
			b.equal("disposition, running, runner, waiting", []any{r.Disposition, r.Running, r.Runner, r.Waiting},
				[]any{store.Queued, first.ID, b.Member(), n + 1})
		}
		r, err := other.Receive(ctx, store.ReceiveRequest{In: incoming(bob, "4"), Claim: true})
		b.must(err)
		b.equal("disposition, running, runner, waiting of an idle chat", []any{r.Disposition, r.Running, r.Runner, r.Waiting},
			[]any{store.Claimed, 0, "", 0})
	}},
	{"a message that must not wait is not stored while a turn runs, nor is its cursor", func(b *bench) {
		first := b.running(ann, "1")
		r, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "2"), Cursor: "c2", NotWhileRunning: true})
		b.must(err)
		b.equal("disposition, running, runner", []any{r.Disposition, r.Running, r.Runner}, []any{store.Busy, first.ID, b.Member()})
		b.equal("what is there", b.ids(ann), "[1]")
		b.equal("the cursor", b.cursor(ann.Channel), "")
		_, again := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Cursor: "c2", Settle: true})
		b.equal("the same message later", again, store.Settled)
		b.equal("the cursor", b.cursor(ann.Channel), "c2")
		b.done(first.ID)
		_, idle := b.receive(store.ReceiveRequest{In: incoming(ann, "3"), NotWhileRunning: true})
		b.equal("one when nothing runs", idle, store.Queued)
	}},
	{"a message beyond the limit of those that wait is not stored, nor is its cursor", func(b *bench) {
		b.running(ann, "1")
		b.queue(ann, "2", "3")
		r, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "4"), Cursor: "c4", QueueLimit: 2})
		b.must(err)
		b.equal("disposition, waiting", []any{r.Disposition, r.Waiting}, []any{store.Full, 2})
		b.equal("what is there", b.ids(ann), "[3 2 1]")
		b.equal("the cursor", b.cursor(ann.Channel), "")
		_, room := b.receive(store.ReceiveRequest{In: incoming(ann, "4"), QueueLimit: 3})
		b.equal("with more room", room, store.Queued)
		_, duplicate := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), QueueLimit: 1})
		b.equal("one that waits already", duplicate, store.Duplicate)
	}},
	{"what a member that is gone has claimed is adopted once", func(b *bench) {
		running := b.running(ann, "1")
		sending, _ := b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: parts(ann, "a"), Claim: true})
		b.queue(bob, "2")
		b.enqueue(store.Outbound{Parts: parts(bob, "b")})
		b.equal("what a member adopts of its own", b.adopt(), store.Adopted{})
		b.reopen()
		adopted := b.adopt()
		b.equal("what is adopted", []any{len(adopted.Inbounds), adopted.Inbounds[0].ID, len(adopted.Deliveries), adopted.Deliveries[0].ID},
			[]any{1, running.ID, 1, sending.ID})
		b.equal("the owner", []string{adopted.Inbounds[0].Owner, b.inbound(running.ID).Owner}, []string{b.Member(), b.Member()})
		b.equal("what is adopted again", b.adopt(), store.Adopted{})
		b.done(running.ID)
		b.settle(sending.ID, store.Sent)
	}},
	{"transient messages are adopted but for those of the member's own turns", func(b *bench) {
		gone, done := b.running(ann, "1"), b.running(bob, "2")
		b.must(b.AddTransient(ctx, store.Transient{Chat: ann, ID: "71", Inbound: gone.ID}))
		b.must(b.AddTransient(ctx, store.Transient{Chat: bob, ID: "72", Inbound: done.ID}))
		b.done(done.ID)
		b.reopen()
		own := b.running(cid, "3")
		b.must(b.AddTransient(ctx, store.Transient{Chat: cid, ID: "73", Inbound: own.ID}))
		b.equal("the adopted", b.adopt().Transients, []store.Transient{{Chat: ann, ID: "71", Inbound: gone.ID}, {Chat: bob, ID: "72", Inbound: done.ID}})
	}},
	{"a member whose work was adopted cannot change it any more", func(b *bench) {
		running := b.running(ann, "1")
		sending, _ := b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: parts(ann, "a"), Claim: true})
		other := b.beside()
		b.equal("how much is adopted", len(other.adopt().Inbounds), 1)
		b.refused(b.finish(running.ID, store.Done, store.Outcome{}))
		b.refused(b.Requeue(ctx, running.ID, false))
		_, err := b.Settle(ctx, sending.ID, store.Settlement{State: store.Sent})
		b.refused(err)
		_, _, err = b.Enqueue(ctx, store.Outbound{Inbound: running.ID, Sequence: 2, Parts: parts(ann, "late")})
		b.refused(err)
		other.settle(sending.ID, store.Sent)
		other.enqueue(store.Outbound{Inbound: running.ID, Sequence: 2, Parts: parts(ann, "from the new owner")})
		other.done(running.ID)
		b.equal("what is sent", other.sendAll(ann), "[from the new owner]")
	}},
	{"two members never run the same chat, nor send to it, at the same time", func(b *bench) {
		other := b.beside()
		b.queue(ann, "1", "2")
		b.enqueue(store.Outbound{Parts: parts(bob, "a", "b")})
		one, sending := b.claim(), b.next(bob)
		other.nothingToClaim()
		other.nothingToSend(bob)
		b.done(one.ID)
		b.settle(sending.ID, store.Sent)
		b.equal("the next, by the other member", []string{other.claim().In.ID, other.next(bob).Out.Text}, []string{"2", "b"})
	}},
	{"a cursor may lag its messages: what is behind it is a duplicate", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.receive(store.ReceiveRequest{In: incoming(bob, "1"), Cursor: "1"})
		b.reopen()
		b.equal("the cursor", b.cursor(ann.Channel), "1")
		_, again := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Cursor: "2"})
		b.equal("what is offered again", again, store.Duplicate)
		b.equal("the cursor", b.cursor(ann.Channel), "2")
		b.equal("how many wait", b.waiting(channels.Chat{}), 2)
	}},
}
