package storetest

import (
	"reflect"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var transcriptTests = []contractTest{
	{"a chat without turns has no history", func(b *fixture) {
		b.equal("the history", b.transcript(ann, 5), "[]")
	}},
	{"a user's message is added when its turn begins", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2")
		b.receiveQueued(bob, "3")
		b.equal("a chat with a turn", b.transcript(ann, 9), "[user: 1]")
		b.equal("a chat without", b.transcript(bob, 9), "[]")
		b.claimOne()
		b.equal("once claimed", b.transcript(bob, 9), "[user: 3]")
	}},
	{"a settled message is not part of the conversation", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true, Answer: outgoingTexts(ann, "help")})
		b.equal("the history", b.transcript(ann, 9), "[]")
	}},
	{"entries are stored completely", func(b *fixture) {
		in := incoming(ann, "1")
		in.Media = []string{"/tmp/a.png"}
		inbound, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		received := b.now()
		b.advance(time.Second)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: outgoingTexts(ann, "x"), Entry: &store.Entry{Role: "agent", Text: "hi", Media: []string{"b.png"}, Time: b.now()}})
		b.advance(time.Second)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: outgoingTexts(ann, "x"), Entry: &store.Entry{Role: "agent", Text: "now"}})
		b.reopen()
		got, err := b.History(ctx, ann, 1, 0)
		b.noError(err)
		want := []store.Entry{
			{Role: "user", Text: "1", Media: []string{"/tmp/a.png"}, Time: received, Inbound: inbound.ID},
			{Role: "agent", Text: "hi", Media: []string{"b.png"}, Time: received.Add(time.Second), Inbound: inbound.ID},
			{Role: "agent", Text: "now", Time: received.Add(2 * time.Second), Inbound: inbound.ID},
		}
		if !reflect.DeepEqual(got, want) {
			b.Fatalf("got %+v\nwant %+v", got, want)
		}
	}},
	{"History returns the last turns, oldest first, each with all of its entries", func(b *fixture) {
		for _, id := range []string{"1", "2", "3"} {
			b.runTurn(ann, id, "a"+id, "b"+id)
			b.runTurn(bob, id, "other")
		}
		b.equal("two turns", b.transcript(ann, 2), "[user: 2 agent: a2 agent: b2 user: 3 agent: a3 agent: b3]")
		b.equal("more turns than there are", len(b.transcript(ann, 9)), 9)
		b.equal("no turns", b.transcript(ann, 0), "[]")
		entries, err := b.History(ctx, ann, 1, b.inboundID(ann, "3"))
		b.noError(err)
		b.equal("the last turn but one", entries[0].Text, "2")
	}},
	{"entries before a new conversation are hidden, in its chat only", func(b *fixture) {
		b.runTurn(ann, "1", "a1")
		b.runTurn(bob, "2", "a2")
		b.startConversation(ann)
		b.reopen()
		b.equal("the history", b.transcript(ann, 9), "[]")
		b.equal("the other chat's", b.transcript(bob, 9), "[user: 2 agent: a2]")
		b.runTurn(ann, "3", "a3")
		b.equal("the history", b.transcript(ann, 9), "[user: 3 agent: a3]")
		b.startConversation(ann)
		b.equal("the history", b.transcript(ann, 9), "[]")
	}},
	{"later entries of a turn from before a new conversation are hidden", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.startConversation(ann)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: outgoingTexts(ann, "late"), Entry: &store.Entry{Role: "agent", Text: "late"}})
		b.finishDone(inbound.ID)
		b.runTurn(ann, "2", "a2")
		b.equal("the history", b.transcript(ann, 9), "[user: 2 agent: a2]")
	}},
}

// startConversation receives a message that starts a new conversation.
func (b *fixture) startConversation(chat channels.Chat) {
	b.Helper()
	b.receive(store.ReceiveRequest{In: channels.Incoming{Chat: chat}, Settle: true, StartConversation: true})
}

// inboundID returns the inbound message with a message ID.
func (b *fixture) inboundID(chat channels.Chat, id string) int64 {
	b.Helper()
	inbounds, err := b.Recent(ctx, chat, 100)
	b.noError(err)
	for _, i := range inbounds {
		if i.In.ID == id {
			return i.ID
		}
	}
	b.Fatalf("no inbound %s", id)
	return 0
}

// runTurn runs a turn with the given answers.
func (b *fixture) runTurn(chat channels.Chat, id string, answers ...string) {
	b.Helper()
	inbound := b.receiveClaimed(chat, id)
	for _, a := range answers {
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: outgoingTexts(chat, a), Entry: &store.Entry{Role: "agent", Text: a}})
	}
	b.sendAll(chat)
	b.finishDone(inbound.ID)
}

func (b *fixture) transcript(chat channels.Chat, turns int) []string {
	b.Helper()
	entries, err := b.History(ctx, chat, turns, 0)
	b.noError(err)
	said := []string{}
	for _, e := range entries {
		said = append(said, e.Role+": "+e.Text)
	}
	return said
}
