package storetest

import (
	"fmt"
	"reflect"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var transcriptTests = []test{
	{"a chat where nothing was said has no history", func(b *bench) {
		b.equal("the history", b.said(ann, 5), "[]")
	}},
	{"users' messages are added when their turns begin", func(b *bench) {
		b.running(ann, "1")
		b.queue(ann, "2")
		b.queue(bob, "3")
		b.equal("a chat with a turn", b.said(ann, 9), "[user: 1]")
		b.equal("a chat without", b.said(bob, 9), "[]")
		b.claim()
		b.equal("once claimed", b.said(bob, 9), "[user: 3]")
	}},
	{"a settled request is no part of the conversation", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true, Answer: parts(ann, "help")})
		b.equal("the history", b.said(ann, 9), "[]")
	}},
	{"entries are kept whole", func(b *bench) {
		in := incoming(ann, "1")
		in.Media = []string{"/tmp/a.png"}
		inbound, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		received := b.now()
		b.pass(time.Second)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: parts(ann, "x"), Entry: &store.Entry{Role: "agent", Text: "hi", Media: []string{"b.png"}, Time: b.now()}})
		b.pass(time.Second)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: parts(ann, "x"), Entry: &store.Entry{Role: "agent", Text: "now"}})
		b.reopen()
		got, err := b.History(ctx, ann, 1, 0)
		b.must(err)
		want := []store.Entry{
			{Role: "user", Text: "1", Media: []string{"/tmp/a.png"}, Time: received, Inbound: inbound.ID},
			{Role: "agent", Text: "hi", Media: []string{"b.png"}, Time: received.Add(time.Second), Inbound: inbound.ID},
			{Role: "agent", Text: "now", Time: received.Add(2 * time.Second), Inbound: inbound.ID},
		}
		if !reflect.DeepEqual(got, want) {
			b.Fatalf("got %+v\nwant %+v", got, want)
		}
	}},
	{"the last turns come oldest first, each with all that was said", func(b *bench) {
		for _, id := range []string{"1", "2", "3"} {
			b.talk(ann, id, "a"+id, "b"+id)
			b.talk(bob, id, "other")
		}
		b.equal("two turns", b.said(ann, 2), "[user: 2 agent: a2 agent: b2 user: 3 agent: a3 agent: b3]")
		b.equal("more turns than there are", len(b.said(ann, 9)), 9)
		b.equal("no turns", b.said(ann, 0), "[]")
		entries, err := b.History(ctx, ann, 1, b.turn(ann, "3"))
		b.must(err)
		b.equal("the last turn but one", entries[0].Text, "2")
	}},
	{"what was said before a fresh start is forgotten, there only", func(b *bench) {
		b.talk(ann, "1", "a1")
		b.talk(bob, "2", "a2")
		b.must(b.StartConversation(ctx, ann))
		b.reopen()
		b.equal("the history", b.said(ann, 9), "[]")
		b.equal("the other chat's", b.said(bob, 9), "[user: 2 agent: a2]")
		b.talk(ann, "3", "a3")
		b.equal("the history", b.said(ann, 9), "[user: 3 agent: a3]")
		b.must(b.StartConversation(ctx, ann))
		b.equal("the history", b.said(ann, 9), "[]")
	}},
	{"a search finds all of the words, the newest first, in its chat only", func(b *bench) {
		b.talk(ann, "1", "The Invoice of May", "nothing")
		b.talk(bob, "2", "the invoice of May")
		b.talk(ann, "3", "an invoice of June", "Über die INVOICE of may")
		b.equal("two words", b.found(ann, 9, "invoice", "MAY"), "[agent: Über die INVOICE of may agent: The Invoice of May]")
		b.equal("the first", b.found(ann, 1, "invoice"), "[agent: Über die INVOICE of may]")
		b.equal("another case", b.found(ann, 9, "üBER"), "[agent: Über die INVOICE of may]")
		b.equal("what a person wrote", b.found(ann, 9, "1"), "[user: 1]")
		b.equal("no words", len(b.found(ann, 9)), 6)
		b.equal("none", b.found(ann, 9, "100%"), "[]")
		b.equal("no more than wanted", b.found(ann, 0, "invoice"), "[]")
	}},
	{"a search goes far back", func(b *bench) {
		b.talk(ann, "needle")
		for i := range 120 {
			b.talk(ann, fmt.Sprintf("hay %d", i))
		}
		b.equal("the first message", b.found(ann, 9, "needle"), "[user: needle]")
		b.equal("the last ones", b.found(ann, 2, "hay"), "[user: hay 119 user: hay 118]")
	}},
	{"a search finds nothing from before a fresh start", func(b *bench) {
		b.talk(ann, "1", "old word")
		b.must(b.StartConversation(ctx, ann))
		b.talk(ann, "2", "new word")
		b.equal("a word of both", b.found(ann, 9, "word"), "[agent: new word]")
	}},
	{"what an old turn says after a fresh start belongs to the past", func(b *bench) {
		inbound := b.running(ann, "1")
		b.must(b.StartConversation(ctx, ann))
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: parts(ann, "late"), Entry: &store.Entry{Role: "agent", Text: "late"}})
		b.done(inbound.ID)
		b.talk(ann, "2", "a2")
		b.equal("the history", b.said(ann, 9), "[user: 2 agent: a2]")
	}},
}

// turn returns the inbound message of a message.
func (b *bench) turn(chat channels.Chat, id string) int64 {
	b.Helper()
	inbounds, err := b.Recent(ctx, chat, 100)
	b.must(err)
	for _, i := range inbounds {
		if i.In.ID == id {
			return i.ID
		}
	}
	b.Fatalf("no inbound %s", id)
	return 0
}

// talk is a whole turn.
func (b *bench) talk(chat channels.Chat, id string, answers ...string) {
	b.Helper()
	inbound := b.running(chat, id)
	for _, a := range answers {
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: parts(chat, a), Entry: &store.Entry{Role: "agent", Text: a}})
	}
	b.sendAll(chat)
	b.done(inbound.ID)
}

func (b *bench) found(chat channels.Chat, limit int, words ...string) []string {
	b.Helper()
	entries, err := b.Search(ctx, chat, words, limit)
	b.must(err)
	found := []string{}
	for _, e := range entries {
		found = append(found, e.Role+": "+e.Text)
	}
	return found
}

func (b *bench) said(chat channels.Chat, turns int) []string {
	b.Helper()
	entries, err := b.History(ctx, chat, turns, 0)
	b.must(err)
	said := []string{}
	for _, e := range entries {
		said = append(said, e.Role+": "+e.Text)
	}
	return said
}
