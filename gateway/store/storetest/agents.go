package storetest

import "nanobot/gateway/store"

var agentTests = []contractTest{
	{"an inbound message has the agent that it was received for, through claim, restart and reopening", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "coder"})
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.reopen()
		first := b.claimOne()
		b.equal("the agent of the first", first.Agent, "coder")
		b.finishDone(first.ID)
		b.noError(b.Restart(ctx, first.ID))
		b.equal("the agent once restarted", b.claimOne().Agent, "coder")
		b.finishDone(first.ID)
		b.equal("the agent where none was named", b.claimOne().Agent, store.DefaultAgent)
	}},
	{"a message that is claimed at once, and a duplicate of it, has its agent", func(b *fixture) {
		request := store.ReceiveRequest{In: incoming(ann, "1"), Agent: "coder", Claim: true}
		first, _ := b.receive(request)
		b.equal("the agent", first.Agent, "coder")
		request.Agent = "other"
		again, _ := b.receive(request)
		b.equal("the agent of the duplicate", again.Agent, "coder")
	}},
	{"a turn that another agent ran is stored with that agent", func(b *fixture) {
		i, _ := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "gone", Claim: true})
		b.noError(b.tryFinish(i.ID, store.Done, store.Outcome{Status: "done", Agent: store.DefaultAgent}))
		b.reopen()
		got, _, err := b.Inbound(ctx, i.ID)
		b.noError(err)
		b.equal("the agent", got.Agent, store.DefaultAgent)
	}},
	{"turns are found by their agent", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "coder"})
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.receive(store.ReceiveRequest{In: incoming(bob, "3"), Agent: "coder"})
		b.equal("all", b.turns(store.TurnFilter{Limit: 9}), "[3 2 1]")
		b.equal("of one agent", b.turns(store.TurnFilter{Agent: "coder", Limit: 9}), "[3 1]")
		b.equal("of one agent in one chat", b.turns(store.TurnFilter{Agent: "coder", Chat: ann, Limit: 9}), "[1]")
		b.equal("of the default agent", b.turns(store.TurnFilter{Agent: store.DefaultAgent, Limit: 9}), "[2]")
	}},
	{"a message with a memory stores it in the same transaction, once", func(b *fixture) {
		request := store.ReceiveRequest{In: incoming(ann, "1"), Settle: true, Remember: store.Memory{Key: "choice", Value: "coder"}}
		b.receive(request)
		b.equal("the memory", b.recall(ann, "choice"), "coder")
		b.remember(ann, "choice", "later")
		b.reopen()
		b.receive(request)
		b.equal("the memory after the same message", b.recall(ann, "choice"), "later")
		b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Remember: store.Memory{Key: "choice"}})
		b.equal("the memory once it is removed", b.recall(ann, "choice"), "")
		b.receive(store.ReceiveRequest{In: incoming(ann, "3"), QueueLimit: 1, Remember: store.Memory{Key: "choice", Value: "lost"}})
		b.equal("the memory of a message that is not stored", b.recall(ann, "choice"), "")
	}},
	{"the answer to a message that waits for its turn is sent", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Answer: outgoingTexts(ann, "a notice")})
		b.equal("what is sent", b.nextDelivery(ann).Out.Text, "a notice")
		b.equal("the turn", b.claimOne().In.ID, "1")
	}},
}
