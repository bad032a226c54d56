package storetest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// part is a part of a message; its text is its id.
func part(chat channels.Chat, group, id string) channels.Incoming {
	in := incoming(chat, id)
	in.Part, in.Raw = &channels.Part{Group: group}, []byte("raw "+id)
	return in
}

// whole is a message that was delivered in parts.
func whole(chat channels.Chat, group, id string) channels.Incoming {
	in := part(chat, group, id)
	in.Text, in.Part.Last = "whole "+id, true
	return in
}

var partTests = []test{
	{"parts are found again after a restart, whole, in order and of their channel only", func(b *bench) {
		first := part(ann, "g", "2")
		first.Raw = []byte("\x00\xff{}")
		b.gather(first, part(bob, "g", "9"), part(ann, "g", "1"), part(channels.Chat{Channel: "network", ID: "ann"}, "g", "1"))
		b.reopen()
		parts, err := b.Parts(ctx, "net")
		b.must(err)
		b.equal("the parts", partIDs(parts), "[net:ann 2 net:bob 9 net:ann 1]")
		if !reflect.DeepEqual(parts[0], first) {
			b.Fatalf("got %+v, want %+v", parts[0], first)
		}
		b.equal("the inbounds of the chat", b.ids(ann), "[]")
		b.nothingToClaim()
	}},
	{"a part that is no part is refused", func(b *bench) {
		if err := b.Gather(ctx, incoming(ann, "1")); err == nil {
			b.Fatal("it was gathered")
		}
	}},
	{"the cursor moves with a part, of its channel only", func(b *bench) {
		in := part(ann, "g", "1")
		in.Cursor = "41"
		b.gather(in)
		b.reopen()
		b.equal("the cursor", b.cursor("net"), "41")
		b.equal("the other channel's", b.cursor("other"), "")
		b.gather(part(ann, "g", "2"))
		b.equal("the cursor after a part without one", b.cursor("net"), "41")
	}},
	{"a part that is gathered again changes nothing but the cursor", func(b *bench) {
		b.gather(part(ann, "g", "1"), part(ann, "g", "2"))
		b.reopen()
		again := part(ann, "h", "1")
		again.Cursor, again.Raw = "42", []byte("other")
		b.gather(again)
		parts := b.parts()
		b.equal("the parts", partIDs(parts), "[net:ann 1 net:ann 2]")
		b.equal("the first", string(parts[0].Raw)+" "+parts[0].Part.Group, "raw 1 g")
		b.equal("the cursor", b.cursor("net"), "42")
	}},
	{"parts without an id are always new", func(b *bench) {
		b.gather(part(ann, "g", ""), part(ann, "g", ""))
		b.equal("how many", len(b.parts()), 2)
		b.receive(store.ReceiveRequest{In: whole(ann, "g", "")})
		b.equal("how many are left", len(b.parts()), 0)
		b.equal("an empty id is known", b.known(ann, ""), false)
	}},
	{"a whole message removes its parts and no others, and their ids are known", func(b *bench) {
		b.gather(part(ann, "g", "1"), part(ann, "h", "2"), part(ann, "g", "3"), part(bob, "g", "4"))
		b.equal("a gathered part is known", b.known(ann, "3"), false)
		inbound, result := b.receive(store.ReceiveRequest{In: whole(ann, "g", "1")})
		b.equal("the result", result, store.Queued)
		b.reopen()
		b.equal("the parts", partIDs(b.parts()), "[net:ann 2 net:bob 4]")
		b.equal("what is known", []bool{b.known(ann, "1"), b.known(ann, "2"), b.known(ann, "3"), b.known(bob, "3")}, "[true false true false]")
		b.gather(part(ann, "g", "1"), part(ann, "g", "3"))
		b.equal("the parts that come again", partIDs(b.parts()), "[net:ann 2 net:bob 4]")
		again, result := b.receive(store.ReceiveRequest{In: incoming(ann, "3")})
		b.equal("the result on a part", result, store.Duplicate)
		b.equal("the inbound of a part", again.ID, inbound.ID)
	}},
	{"an inbound has neither its part nor what was needed to complete it", func(b *bench) {
		b.gather(part(ann, "g", "1"))
		inbound, _ := b.receive(store.ReceiveRequest{In: whole(ann, "g", "1")})
		b.reopen()
		for _, got := range []store.Inbound{inbound, b.inbound(inbound.ID)} {
			if got.In.Part != nil || got.In.Raw != nil || got.In.Text != "whole 1" {
				b.Fatalf("got %+v", got.In)
			}
		}
	}},
	{"a message that is received with only one of its parts as Part keeps the others", func(b *bench) {
		b.gather(part(ann, "g", "1"))
		b.receive(store.ReceiveRequest{In: part(ann, "g", "2")})
		b.equal("the parts", partIDs(b.parts()), "[net:ann 1]")
	}},
	{"a whole message that is a duplicate removes its parts all the same", func(b *bench) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1")})
		b.gather(part(ann, "g", "2"))
		_, result := b.receive(store.ReceiveRequest{In: whole(ann, "g", "1")})
		b.equal("the result", result, store.Duplicate)
		b.equal("the parts", partIDs(b.parts()), "[]")
		b.equal("the part is known", b.known(ann, "2"), true)
	}},
	{"a whole message that is settled removes its parts", func(b *bench) {
		b.gather(part(ann, "g", "1"))
		b.receive(store.ReceiveRequest{In: whole(ann, "g", "1"), Settle: true, Answer: parts(ann, "no")})
		b.equal("the parts", partIDs(b.parts()), "[]")
	}},
	{"a stranger's whole message removes its parts, and no more than so many of them are known", func(b *bench) {
		b.gather(part(chatOf("7"), "g", "1"), part(chatOf("7"), "g", "2"), part(chatOf("7"), "h", "3"))
		m := b.stranger("net", "7", "1")
		m.In = whole(m.In.Chat, "g", "1")
		b.equal("the refusal", b.refuse(m), store.PairingCoded)
		b.equal("the same again", b.refuse(m), store.PairingSeen)
		b.reopen()
		b.equal("the parts", partIDs(b.parts()), "[net:of 7 3]")
		b.equal("what is known", []bool{b.known(m.In.Chat, "1"), b.known(m.In.Chat, "2"), b.known(m.In.Chat, "3")}, "[true true false]")
		pairings, err := b.Pairings(ctx)
		b.must(err)
		if kept := pairings[0].Message; kept.Part != nil || kept.Raw != nil || kept.Text != "whole 1" {
			b.Fatalf("kept is %+v", kept)
		}
		for i := range 1000 {
			m.In = whole(m.In.Chat, "h", fmt.Sprint("flood ", i))
			b.refuse(m)
		}
		b.equal("the first is known behind a flood", b.known(m.In.Chat, "2"), false)
	}},
	{"who has been let in meanwhile is not refused, and keeps the parts", func(b *bench) {
		b.admit("net", "7")
		b.gather(part(chatOf("7"), "g", "1"))
		m := b.stranger("net", "7", "1")
		m.In.Part = &channels.Part{Group: "g", Last: true}
		b.equal("the refusal", b.refuse(m), store.AlreadyAdmitted)
		b.equal("the parts", partIDs(b.parts()), "[net:of 7 1]")
	}},
	{"dropped parts are gone and known", func(b *bench) {
		b.gather(part(ann, "g", "1"), part(ann, "h", "2"))
		b.must(b.DropParts(ctx, ann, "g"))
		b.must(b.DropParts(ctx, ann, "g"))
		b.reopen()
		b.gather(part(ann, "g", "1"))
		b.equal("the parts", partIDs(b.parts()), "[net:ann 2]")
		b.equal("what is known", []bool{b.known(ann, "1"), b.known(ann, "2")}, "[true false]")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1")})
		b.equal("the result", result, store.Duplicate)
	}},
	{"parts stay for weeks, because their channel may be disabled, and not for ever", func(b *bench) {
		b.gather(part(ann, "g", "old"))
		b.pass(20 * 24 * time.Hour)
		b.gather(part(ann, "g", "young"))
		b.must(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("the parts", partIDs(b.parts()), "[net:ann old net:ann young]")
		b.pass(11 * 24 * time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("the parts later", partIDs(b.parts()), "[net:ann young]")
		b.must(b.Prune(ctx, store.Retention{}))
		b.reopen()
		b.equal("the parts without limits", partIDs(b.parts()), "[net:ann young]")
	}},
}

func chatOf(user string) channels.Chat { return channels.Chat{Channel: "net", ID: "of " + user} }

func (b *bench) gather(all ...channels.Incoming) {
	b.Helper()
	for _, in := range all {
		b.must(b.Gather(ctx, in))
	}
}

// parts are the gathered parts of net.
func (b *bench) parts() []channels.Incoming {
	b.Helper()
	parts, err := b.Parts(ctx, "net")
	b.must(err)
	return parts
}

func (b *bench) known(chat channels.Chat, id string) bool {
	b.Helper()
	known, err := b.Known(ctx, chat, id)
	b.must(err)
	return known
}

// partIDs are the chats and ids of parts, in order.
func partIDs(parts []channels.Incoming) string {
	ids := []string{}
	for _, p := range parts {
		ids = append(ids, p.Chat.String()+" "+p.ID)
	}
	return "[" + strings.Join(ids, " ") + "]"
}
