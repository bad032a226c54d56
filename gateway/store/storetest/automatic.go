package storetest

import (
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// automatic returns a request for a message in Ann's chat that nobody has typed.
func automatic(origin channels.Origin, text string) store.ReceiveRequest {
	return store.ReceiveRequest{In: channels.Incoming{
		Chat: ann, Origin: origin, Text: text, User: channels.User{ID: origin.String(), Name: origin.String()},
	}}
}

// sent returns a request for a message that is sent to Ann's chat.
func sent(origin channels.Origin, texts ...string) store.ReceiveRequest {
	request := automatic(origin, "")
	request.Settle, request.Answer = true, outgoingTexts(ann, texts...)
	request.Entry = &store.Entry{Role: "agent", Text: texts[0]}
	return request
}

// receiveAll receives requests, which must be queued.
func (b *fixture) receiveAll(requests ...store.ReceiveRequest) {
	b.Helper()
	for _, r := range requests {
		_, result := b.receive(r)
		b.equal("the result on "+r.In.Text, result, store.Queued)
	}
}

// queueTexts returns the texts of Ann's queue.
func (b *fixture) queueTexts() (texts []string) {
	b.Helper()
	queue, err := b.Queue(ctx, ann, 100)
	b.noError(err)
	for _, i := range queue {
		texts = append(texts, i.In.Text)
	}
	return texts
}

// runAll runs the turns of all waiting messages and returns their texts.
func (b *fixture) runAll() (texts []string) {
	b.Helper()
	for {
		claimed, err := b.Claim(ctx, store.ClaimRequest{Limit: 1})
		b.noError(err)
		if len(claimed) == 0 {
			return texts
		}
		texts = append(texts, claimed[0].In.Text)
		b.finishDone(claimed[0].ID)
	}
}

var hook = channels.ByHook("ci")

var automaticTests = []contractTest{
	{"an origin is stored", func(b *fixture) {
		request := automatic(channels.BySchedule("report"), "a")
		request.In.Maker, request.In.Quiet = "8", true
		got, result := b.receive(request)
		b.equal("the result", result, store.Queued)
		b.reopen()
		for _, in := range []channels.Incoming{got.In, b.inbound(got.ID).In, b.claimOne().In} {
			b.equal("the message", []any{in.Origin, in.Maker, in.Quiet, in.User.ID}, "[schedule:report 8 true schedule:report]")
		}
	}},
	{"turns are found by their origin", func(b *fixture) {
		b.receiveAll(automatic(hook, "h1"), automatic(channels.ByAsk, "a1"))
		b.receiveQueued(ann, "p1")
		for origin, want := range map[string]string{"": "[p1 a1 h1]", "hook:ci": "[h1]", "person": "[p1]", "hook": "[]"} {
			turns, err := b.Turns(ctx, store.TurnFilter{Origin: origin, Limit: 9})
			b.noError(err)
			texts := []string{}
			for _, i := range turns {
				texts = append(texts, i.In.Text)
			}
			b.equal("the turns of "+origin, texts, want)
		}
	}},
	{"the last messages of a chat are found behind those that were only sent to it", func(b *fixture) {
		b.finishDone(b.receiveClaimed(ann, "p1").ID)
		b.receiveAll(automatic(hook, "h1"))
		b.finishDone(b.claimOne().ID)
		for range 3 {
			b.receive(sent(hook, "alert"))
		}
		b.receiveAll(automatic(hook, "h2"))
		recent, err := b.Recent(ctx, ann, 3)
		b.noError(err)
		texts := []string{}
		for _, i := range recent {
			texts = append(texts, i.In.Text)
		}
		b.equal("the last messages", texts, "[h2 h1 p1]")
	}},
	{"a person's message goes first, and each kind stays in order", func(b *fixture) {
		running := b.receiveClaimed(ann, "running")
		b.receiveAll(automatic(hook, "h1"), automatic(channels.ByAsk, "a2"))
		b.receiveQueued(ann, "p1", "p2")
		b.receiveAll(automatic(hook, "h3"))
		b.equal("the queue", b.queueTexts(), "[p1 p2 h1 a2 h3]")
		b.reopen()
		b.adopt()
		b.finishDone(running.ID)
		b.equal("the turns", b.runAll(), "[p1 p2 h1 a2 h3]")
	}},
	{"a message that runs again is first, whoever began it", func(b *fixture) {
		for _, request := range []store.ReceiveRequest{automatic(hook, "again"), {In: incoming(ann, "again")}} {
			b.receiveAll(request)
			again := b.claimOne()
			b.finishDone(again.ID)
			b.receiveAll(automatic(hook, "h"))
			request.In.ID = ""
			b.receiveQueued(ann, "p"+request.In.Origin.String())
			b.noError(b.Restart(ctx, again.ID))
			b.equal("the queue", b.queueTexts()[0], "again")
			b.equal("the turns", b.runAll(), "[again p"+request.In.Origin.String()+" h]")
		}
	}},
	{"the messages of a person before a message are counted, and those that nobody has typed are not", func(b *fixture) {
		b.receiveClaimed(ann, "running")
		for range 3 {
			b.receiveAll(automatic(hook, "h"))
		}
		for i := range 2 {
			got, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, fmt.Sprint(i)), QueueLimit: 2})
			b.noError(err)
			b.equal("the result", []any{got.Disposition, got.Waiting}, []any{store.Queued, i + 1})
		}
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "3"), QueueLimit: 2})
		b.equal("the result beyond the limit", result, store.Full)
		got, err := b.Receive(ctx, automatic(hook, "h"))
		b.noError(err)
		b.equal("the messages before another one of the hook, and itself", got.Waiting, 6)
	}},
	{"a person's message is not claimed past waiting messages of its chat outside the line", func(b *fixture) {
		b.receiveAll(automatic(hook, "h"))
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "p"), Claim: true})
		b.equal("the result", result, store.Queued)
		b.equal("the turns", b.runAll(), "[p h]")
	}},
	{"an automatic message waits while a person's message gathers, and is claimed after it", func(b *fixture) {
		b.receiveAll(automatic(hook, "h1"))
		b.gather(incoming(ann, "p1"))
		b.receiveAll(automatic(hook, "h2"))
		b.nothingToClaim()
		b.expectNextClaim(time.Second)
		b.gather(incoming(ann, "p2"))
		b.advance(time.Second)
		b.equal("the turns", b.runAll(), "[p1\np2 h1 h2]")
	}},
	{"an automatic message no longer waits when the gathering message is cancelled", func(b *fixture) {
		p, _ := b.gather(incoming(ann, "p1"))
		b.receiveAll(automatic(hook, "h1"))
		_, err := b.Cancel(ctx, ann, p.ID)
		b.noError(err)
		b.equal("the turns", b.runAll(), "[h1]")
	}},
	{"Cancel drops automatic messages, too", func(b *fixture) {
		b.receiveAll(automatic(hook, "h1"))
		b.receiveQueued(ann, "p1")
		n, err := b.Cancel(ctx, ann, 0)
		b.noError(err)
		b.equal("dropped", n, 2)
		b.nothingToClaim()
	}},
	{"a known key in a chat is a duplicate, also after a restart", func(b *fixture) {
		request := automatic(hook, "h1")
		request.Key = "hook:ci 1"
		first, result := b.receive(request)
		b.equal("the first", result, store.Queued)
		b.reopen()
		again, result := b.receive(request)
		b.equal("the second", []any{result, again.ID}, []any{store.Duplicate, first.ID})
		request.In.Chat = bob
		_, result = b.receive(request)
		b.equal("another chat", result, store.Queued)
		request = sent(hook, "one")
		request.Key = "hook:ci 2"
		b.receive(request)
		_, result = b.receive(request)
		b.equal("a message that is sent", result, store.Duplicate)
		b.equal("what is sent", b.sendAll(ann), "[one]")
	}},
	{"an origin has a bounded number of waiting messages", func(b *fixture) {
		request := automatic(hook, "h")
		request.OriginLimit = 2
		b.receiveAll(request, request)
		_, result := b.receive(request)
		b.equal("the third", result, store.Full)
		other := automatic(channels.ByHook("other"), "h")
		other.OriginLimit = 1
		b.receiveAll(other)
		b.receiveQueued(ann, "p")
		b.finishDone(b.claimOne().ID) // the person's
		_, result = b.receive(request)
		b.equal("still", result, store.Full)
		b.finishDone(b.claimOne().ID)
		b.receiveAll(request)
	}},
	{"an origin has a bounded number of unsent messages, however many parts they have", func(b *fixture) {
		request := sent(hook, "one", "two", "three")
		request.OriginLimit = 2
		for _, want := range []store.Disposition{store.Settled, store.Settled, store.Full} {
			_, result := b.receive(request)
			b.equal("the result", result, want)
		}
		b.equal("sent", len(b.sendAll(ann)), 6)
		_, result := b.receive(request)
		b.equal("once they are sent", result, store.Settled)
	}},
	{"a message that is sent is one of the agent's in the history", func(b *fixture) {
		b.runTurn(ann, "hello", "hi")
		b.receive(sent(hook, "build failed"))
		b.receive(automatic(hook, "waits"))
		b.reopen()
		b.equal("the history", b.transcript(ann, 9), "[user: hello agent: hi agent: build failed]")
		b.equal("found", b.search("failed"), "[agent: build failed]")
		b.equal("what waits", b.search("waits"), "[]")
		b.claimOne()
		b.equal("once claimed", b.search("waits"), "[user: waits]")
	}},
	{"cancelled automatic messages take no room in the history", func(b *fixture) {
		b.runTurn(ann, "hello", "hi")
		b.receiveAll(automatic(hook, "h1"), automatic(hook, "h2"))
		_, err := b.Cancel(ctx, ann, 0)
		b.noError(err)
		b.equal("the last turn", b.transcript(ann, 1), "[user: hello agent: hi]")
	}},
	{"the deliveries of a message that is sent can be read", func(b *fixture) {
		i, _ := b.receive(sent(hook, "one", "two"))
		states := func() (all []store.State) {
			deliveries, err := b.Deliveries(ctx, i.ID)
			b.noError(err)
			for _, d := range deliveries {
				all = append(all, d.State)
			}
			return all
		}
		b.equal("the states", states(), "[pending pending]")
		b.sendAll(ann)
		b.equal("the states", states(), "[sent sent]")
	}},
	{"an operator's automatic messages are nobody's, and a reminder is its maker's", func(b *fixture) {
		reminder, running := automatic(channels.BySchedule("r"), "reminder"), automatic(channels.BySchedule("r"), "running")
		reminder.In.Maker, running.In.Maker, running.In.Chat, running.Claim = "8", "8", bob, true
		started, _ := b.receive(running)
		b.receiveAll(automatic(hook, "h1"), reminder)
		b.receive(sent(hook, "build failed"))
		mine := sent(channels.BySchedule("r"), "remember")
		mine.In.Maker = "8"
		b.receive(mine)
		busy, err := b.BusyUnpaired(ctx, "net")
		b.noError(err)
		b.equal("busy", busy, "[8]")
		b.dismiss("hook:ci")
		b.dismiss("8")
		b.equal("the running turns that are dismissed", b.dismissed(), []int64{started.ID})
		b.equal("the turns", b.runAll(), "[h1]")
		b.equal("what is sent", b.sendAll(ann), "[build failed]")
	}},
	{"a dismissed person loses a chat's token though hooks have written there", func(b *fixture) {
		b.receiveAll(automatic(hook, "h1"))
		token := b.claimOne().Token
		b.receive(messageOf("8", ann, "p"))
		b.dismiss("7")
		b.equal("while another person has written", b.chatOfToken(token), "net:ann")
		b.dismiss("8")
		b.equal("afterwards", b.chatOfToken(token), "none")
	}},
}
