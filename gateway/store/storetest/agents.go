package storetest

import "nanobot/gateway/store"

var agentTests = []test{
	{"an inbound message has the agent that it was received for, through claim, restart and reopening", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "coder"})
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.reopen()
		first := b.claim()
		b.equal("the agent of the first", first.Agent, "coder")
		b.done(first.ID)
		b.must(b.Restart(ctx, first.ID))
		b.equal("the agent once restarted", b.claim().Agent, "coder")
		b.done(first.ID)
		b.equal("the agent where none was named", b.claim().Agent, store.DefaultAgent)
	}},
	{"a message that is claimed at once, and a duplicate of it, has its agent", func(b *bench) {
		request := store.ReceiveRequest{In: incoming(ann, "1"), Agent: "coder", Claim: true}
		first, _ := b.receive(request)
		b.equal("the agent", first.Agent, "coder")
		request.Agent = "other"
		again, _ := b.receive(request)
		b.equal("the agent of the duplicate", again.Agent, "coder")
	}},
	{"a turn that another agent ran has that agent", func(b *bench) {
		i, _ := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "gone", Claim: true})
		b.must(b.finish(i.ID, store.Done, store.Outcome{Status: "done", Agent: store.DefaultAgent}))
		b.reopen()
		got, _, err := b.Inbound(ctx, i.ID)
		b.must(err)
		b.equal("the agent", got.Agent, store.DefaultAgent)
	}},
	{"turns are found by their agent", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "coder"})
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.receive(store.ReceiveRequest{In: incoming(bob, "3"), Agent: "coder"})
		b.equal("all", b.turns(store.TurnFilter{Limit: 9}), "[3 2 1]")
		b.equal("of one agent", b.turns(store.TurnFilter{Agent: "coder", Limit: 9}), "[3 1]")
		b.equal("of one agent in one chat", b.turns(store.TurnFilter{Agent: "coder", Chat: ann, Limit: 9}), "[1]")
		b.equal("of the default agent", b.turns(store.TurnFilter{Agent: store.DefaultAgent, Limit: 9}), "[2]")
	}},
	{"a message that has something remembered does so in the same step, once", func(b *bench) {
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
	{"the answer to a message that waits for its turn is sent", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Answer: parts(ann, "a notice")})
		b.equal("what is sent", b.next(ann).Out.Text, "a notice")
		b.equal("the turn", b.claim().In.ID, "1")
	}},
}
