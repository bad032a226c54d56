package storetest

import (
	"errors"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// openSecond opens a second handle on the same state, which is another member.
func (b *fixture) openSecond() *fixture {
	b.Helper()
	other := &fixture{T: b.T, dir: b.dir, open: b.open, time: b.now()}
	other.Store = b.open(b.T, Options{Dir: b.dir, Now: other.now, Beside: true})
	b.Cleanup(func() {
		if err := other.Close(); err != nil {
			b.Errorf("close the second handle: %v", err)
		}
	})
	return other
}

var memberTests = []contractTest{
	{"every handle is a member of its own", func(b *fixture) {
		names := map[string]bool{b.Member(): true, b.openSecond().Member(): true}
		b.reopen()
		names[b.Member()] = true
		b.equal("how many names", len(names), 3)
	}},
	{"a claimed message belongs to its member until it ends", func(b *fixture) {
		claimed := b.receiveClaimed(ann, "1")
		b.receiveQueued(bob, "2")
		b.equal("the owners", []string{claimed.Owner, b.claimOne().Owner}, []string{b.Member(), b.Member()})
		b.equal("the owner as it is stored", b.inbound(claimed.ID).Owner, b.Member())
		b.finishDone(claimed.ID)
		b.equal("the owner of what has ended", b.inbound(claimed.ID).Owner, "")
		b.noError(b.Restart(ctx, claimed.ID))
		b.equal("the owner of what is pending", b.inbound(claimed.ID).Owner, "")
	}},
	{"Receive returns which member runs the chat, and how many messages wait", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		other := b.openSecond()
		read, err := other.ReadChat(ctx, ann)
		b.noError(err)
		if read.Kept { // the engine has several live members
			_, err := other.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "2"), Claim: true})
			b.equal("what another member is told", errors.Is(err, store.ErrKept), true)
			b.noError(other.Forward(ctx, incoming(ann, "2")))
			forwarded, err := b.Forwarded(ctx, 9)
			b.noError(err)
			b.equal("what is forwarded", []any{len(forwarded), forwarded[0].In.ID}, []any{1, "2"})
			b.noError(b.DropForwarded(ctx, forwarded[0].ID))
			return
		}
		for n, id := range []string{"2", "3"} {
			r, err := other.Receive(ctx, store.ReceiveRequest{In: incoming(ann, id), Claim: true})
			b.noError(err)
			b.equal("disposition, running, runner, waiting", []any{r.Disposition, r.Running, r.Runner, r.Waiting},
				[]any{store.Queued, first.ID, b.Member(), n + 1})
		}
		r, err := other.Receive(ctx, store.ReceiveRequest{In: incoming(bob, "4"), Claim: true})
		b.noError(err)
		b.equal("disposition, running, runner, waiting of an idle chat", []any{r.Disposition, r.Running, r.Runner, r.Waiting},
			[]any{store.Claimed, 0, "", 0})
	}},
	{"a message with NotWhileRunning is not stored while a turn runs, nor is its cursor", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		r, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "2"), Cursor: "c2", NotWhileRunning: true})
		b.noError(err)
		b.equal("disposition, running, runner", []any{r.Disposition, r.Running, r.Runner}, []any{store.Busy, first.ID, b.Member()})
		b.equal("what is there", b.messageIDs(ann), "[1]")
		b.equal("the cursor", b.cursor(ann.Channel), "")
		_, again := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Cursor: "c2", Settle: true})
		b.equal("the same message later", again, store.Settled)
		b.equal("the cursor", b.cursor(ann.Channel), "c2")
		b.finishDone(first.ID)
		_, idle := b.receive(store.ReceiveRequest{In: incoming(ann, "3"), NotWhileRunning: true})
		b.equal("one when nothing runs", idle, store.Queued)
	}},
	{"a message beyond QueueLimit is not stored, nor is its cursor", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2", "3")
		r, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "4"), Cursor: "c4", QueueLimit: 2})
		b.noError(err)
		b.equal("disposition, waiting", []any{r.Disposition, r.Waiting}, []any{store.Full, 2})
		b.equal("what is there", b.messageIDs(ann), "[3 2 1]")
		b.equal("the cursor", b.cursor(ann.Channel), "")
		_, room := b.receive(store.ReceiveRequest{In: incoming(ann, "4"), QueueLimit: 3})
		b.equal("with more room", room, store.Queued)
		_, duplicate := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), QueueLimit: 1})
		b.equal("one that waits already", duplicate, store.Duplicate)
	}},
	{"the claimed work of a member that is gone is adopted once", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		sending, _ := b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Claim: true})
		b.receiveQueued(bob, "2")
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "b")})
		b.equal("what a member adopts of its own", b.adopt(), store.Adopted{})
		b.reopen()
		adopted := b.adopt()
		b.equal("what is adopted", []any{len(adopted.Inbounds), adopted.Inbounds[0].ID, len(adopted.Deliveries), adopted.Deliveries[0].ID},
			[]any{1, running.ID, 1, sending.ID})
		b.equal("the owner", []string{adopted.Inbounds[0].Owner, b.inbound(running.ID).Owner}, []string{b.Member(), b.Member()})
		b.equal("what is adopted again", b.adopt(), store.Adopted{})
		b.finishDone(running.ID)
		b.settle(sending.ID, store.Sent)
	}},
	{"transient messages are adopted, except those of the member's own turns", func(b *fixture) {
		gone, done := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		b.noError(b.AddTransient(ctx, store.Transient{Chat: ann, ID: "71", Inbound: gone.ID}))
		b.noError(b.AddTransient(ctx, store.Transient{Chat: bob, ID: "72", Inbound: done.ID}))
		b.finishDone(done.ID)
		b.reopen()
		own := b.receiveClaimed(cid, "3")
		b.noError(b.AddTransient(ctx, store.Transient{Chat: cid, ID: "73", Inbound: own.ID}))
		b.equal("the adopted", b.adopt().Transients, []store.Transient{{Chat: ann, ID: "71", Inbound: gone.ID}, {Chat: bob, ID: "72", Inbound: done.ID}})
	}},
	{"a member whose work was adopted cannot change it any more", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		sending, _ := b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Claim: true})
		other := b.openSecond()
		b.equal("how much is adopted", len(other.adopt().Inbounds), 1)
		b.checkErrState(b.tryFinish(running.ID, store.Done, store.Outcome{}))
		b.checkErrState(b.Requeue(ctx, running.ID, false))
		_, err := b.Settle(ctx, sending.ID, store.Settlement{State: store.Sent})
		b.checkErrState(err)
		_, _, err = b.Enqueue(ctx, store.Outbound{Inbound: running.ID, Sequence: 2, Parts: outgoingTexts(ann, "late")})
		b.checkErrState(err)
		other.settle(sending.ID, store.Sent)
		other.enqueue(store.Outbound{Inbound: running.ID, Sequence: 2, Parts: outgoingTexts(ann, "from the new owner")})
		other.finishDone(running.ID)
		b.equal("what is sent", other.sendAll(ann), "[from the new owner]")
	}},
	{"two members never run the same chat, nor send to it, at the same time", func(b *fixture) {
		other := b.openSecond()
		b.receiveQueued(ann, "1", "2")
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "a", "b")})
		one, sending := b.claimOne(), b.nextDelivery(bob)
		other.nothingToClaim()
		other.nothingToSend(bob)
		b.finishDone(one.ID)
		b.settle(sending.ID, store.Sent)
		b.equal("the next, by the other member", []string{other.claimOne().In.ID, other.nextDelivery(bob).Out.Text}, []string{"2", "b"})
	}},
	{"the work of a live member is refused to the others", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		sending, _ := b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Claim: true})
		other := b.openSecond()
		_, _, late := other.Enqueue(ctx, store.Outbound{Inbound: running.ID, Sequence: 2, Parts: outgoingTexts(ann, "late")})
		_, settled := other.Settle(ctx, sending.ID, store.Settlement{State: store.Sent})
		question := store.Question{Question: terminal.Question{ID: "q"}, Inbound: running.ID, Chat: ann}
		asked := other.Ask(ctx, question, store.Outbound{Inbound: running.ID, Sequence: 3, Parts: outgoingTexts(ann, "late")})
		for what, err := range map[string]error{
			"the end of a turn": other.tryFinish(running.ID, store.Done, store.Outcome{}), "a message of it": late,
			"a question of it": asked, "another try": other.Requeue(ctx, running.ID, false), "the result of a delivery": settled,
		} {
			if !errors.Is(err, store.ErrFenced) {
				b.Fatalf("%s: got %v, want ErrFenced", what, err)
			}
		}
		b.settle(sending.ID, store.Sent)
		b.finishDone(running.ID)
		b.equal("what is left to send", b.sendAll(ann), "[]")
	}},
	{"a message for another member waits in the line and blocks no other chat", func(b *fixture) {
		other := b.openSecond()
		page := channels.Chat{Channel: "page", ID: "1"}
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "gpu"})
		b.receiveQueued(ann, "2")
		b.receiveQueued(page, "3")
		b.receiveQueued(bob, "4")
		b.receiveQueued(cid, "5")
		claim := func(of *fixture, limit int, agents, except []string) (ids []string) {
			b.Helper()
			claimed, err := of.Claim(ctx, store.ClaimRequest{Limit: limit, ExceptAgents: agents, ExceptChannels: except})
			b.noError(err)
			for _, inbound := range claimed {
				ids = append(ids, inbound.In.ID)
				b.noError(of.tryFinish(inbound.ID, store.Done, store.Outcome{}))
			}
			return ids
		}
		b.equal("what the one claims", claim(b, 2, []string{"gpu"}, []string{"page", "other"}), "[4 5]")
		b.equal("what is left for it", claim(b, 9, []string{"gpu"}, []string{"page"}), "[]")
		b.equal("what the other claims", claim(other, 9, nil, []string{"page"}), "[1]")
		b.equal("what follows for the one", claim(b, 9, []string{"gpu"}, []string{"page"}), "[2]")
		b.equal("what the leader claims", claim(b, 9, nil, nil), "[3]")
	}},
	{"a cursor may lag behind its messages: a message that is delivered again is a duplicate", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.receive(store.ReceiveRequest{In: incoming(bob, "1"), Cursor: "1"})
		b.reopen()
		b.equal("the cursor", b.cursor(ann.Channel), "1")
		_, again := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Cursor: "2"})
		b.equal("what is offered again", again, store.Duplicate)
		b.equal("the cursor", b.cursor(ann.Channel), "2")
		b.equal("how many wait", b.countWaiting(channels.Chat{}), 2)
	}},
}
