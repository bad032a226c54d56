package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// partOf returns a part of a message whose text is its ID.
func partOf(chat channels.Chat, group, id string) channels.Incoming {
	in := incoming(chat, id)
	in.Part, in.Raw = &channels.Part{Group: group}, []byte("raw "+id)
	return in
}

// wholeMessage returns a complete message that was delivered in parts.
func wholeMessage(chat channels.Chat, group, id string) channels.Incoming {
	in := partOf(chat, group, id)
	in.Text, in.Part.Last = "whole "+id, true
	return in
}

var partTests = []contractTest{
	{"Parts returns the parts of one channel, unchanged and in order, after a restart", func(b *fixture) {
		first := partOf(ann, "g", "2")
		first.Raw = []byte("\x00\xff{}")
		b.storeParts(first, partOf(bob, "g", "9"), partOf(ann, "g", "1"), partOf(channels.Chat{Channel: "network", ID: "ann"}, "g", "1"))
		b.reopen()
		parts, err := b.Parts(ctx, "net")
		b.noError(err)
		b.equal("the parts", partIDs(parts), "[net:ann 2 net:bob 9 net:ann 1]")
		if !reflect.DeepEqual(parts[0], first) {
			b.Fatalf("got %+v, want %+v", parts[0], first)
		}
		b.equal("the inbounds of the chat", b.messageIDs(ann), "[]")
		b.nothingToClaim()
	}},
	{"a message that is not a part is refused by StorePart", func(b *fixture) {
		if err := b.StorePart(ctx, incoming(ann, "1")); err == nil {
			b.Fatal("it was stored")
		}
	}},
	{"a part moves the cursor of its channel only", func(b *fixture) {
		in := partOf(ann, "g", "1")
		in.Cursor = "41"
		b.storeParts(in)
		b.reopen()
		b.equal("the cursor", b.cursor("net"), "41")
		b.equal("the other channel's", b.cursor("other"), "")
		b.storeParts(partOf(ann, "g", "2"))
		b.equal("the cursor after a part without one", b.cursor("net"), "41")
	}},
	{"a part that is stored again changes nothing but the cursor", func(b *fixture) {
		b.storeParts(partOf(ann, "g", "1"), partOf(ann, "g", "2"))
		b.reopen()
		again := partOf(ann, "h", "1")
		again.Cursor, again.Raw = "42", []byte("other")
		b.storeParts(again)
		parts := b.storedParts()
		b.equal("the parts", partIDs(parts), "[net:ann 1 net:ann 2]")
		b.equal("the first", string(parts[0].Raw)+" "+parts[0].Part.Group, "raw 1 g")
		b.equal("the cursor", b.cursor("net"), "42")
	}},
	{"parts without an ID are always new", func(b *fixture) {
		b.storeParts(partOf(ann, "g", ""), partOf(ann, "g", ""))
		b.equal("how many", len(b.storedParts()), 2)
		b.receive(store.ReceiveRequest{In: wholeMessage(ann, "g", "")})
		b.equal("how many are left", len(b.storedParts()), 0)
		b.equal("an empty id is known", b.known(ann, ""), false)
	}},
	{"a complete message removes its own parts, and their IDs are known", func(b *fixture) {
		b.storeParts(partOf(ann, "g", "1"), partOf(ann, "h", "2"), partOf(ann, "g", "3"), partOf(bob, "g", "4"))
		b.equal("a stored part is known", b.known(ann, "3"), false)
		inbound, result := b.receive(store.ReceiveRequest{In: wholeMessage(ann, "g", "1")})
		b.equal("the result", result, store.Queued)
		b.reopen()
		b.equal("the parts", partIDs(b.storedParts()), "[net:ann 2 net:bob 4]")
		b.equal("what is known", []bool{b.known(ann, "1"), b.known(ann, "2"), b.known(ann, "3"), b.known(bob, "3")}, "[true false true false]")
		for id, known := range map[string]bool{"1": true, "2": false, "3": true} {
			again := partOf(ann, "g", id)
			again.Cursor = "of " + id
			b.equal("part "+id+" is known", errors.Is(b.StorePart(ctx, again), channels.ErrKnown), known)
			b.equal("the cursor", b.cursor("net"), again.Cursor)
		}
		b.equal("the parts that come again", partIDs(b.storedParts()), "[net:ann 2 net:bob 4]")
		again, result := b.receive(store.ReceiveRequest{In: incoming(ann, "3")})
		b.equal("the result on a part", result, store.Duplicate)
		b.equal("the inbound of a part", again.ID, inbound.ID)
	}},
	{"an inbound message has neither Part nor Raw", func(b *fixture) {
		b.storeParts(partOf(ann, "g", "1"))
		inbound, _ := b.receive(store.ReceiveRequest{In: wholeMessage(ann, "g", "1")})
		b.reopen()
		for _, got := range []store.Inbound{inbound, b.inbound(inbound.ID)} {
			if got.In.Part != nil || got.In.Raw != nil || got.In.Text != "whole 1" {
				b.Fatalf("got %+v", got.In)
			}
		}
	}},
	{"a message whose part is not the last one leaves the other parts", func(b *fixture) {
		b.storeParts(partOf(ann, "g", "1"))
		b.receive(store.ReceiveRequest{In: partOf(ann, "g", "2")})
		b.equal("the parts", partIDs(b.storedParts()), "[net:ann 1]")
	}},
	{"a complete message that is a duplicate also removes its parts", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1")})
		b.storeParts(partOf(ann, "g", "2"))
		_, result := b.receive(store.ReceiveRequest{In: wholeMessage(ann, "g", "1")})
		b.equal("the result", result, store.Duplicate)
		b.equal("the parts", partIDs(b.storedParts()), "[]")
		b.equal("the part is known", b.known(ann, "2"), true)
	}},
	{"a complete message that is settled removes its parts", func(b *fixture) {
		b.storeParts(partOf(ann, "g", "1"))
		b.receive(store.ReceiveRequest{In: wholeMessage(ann, "g", "1"), Settle: true, Answer: outgoingTexts(ann, "no")})
		b.equal("the parts", partIDs(b.storedParts()), "[]")
	}},
	{"an outsider's complete message removes its parts, and the number of known IDs is limited", func(b *fixture) {
		b.storeParts(partOf(outsiderChat("7"), "g", "1"), partOf(outsiderChat("7"), "g", "2"), partOf(outsiderChat("7"), "h", "3"))
		m := b.outsiderMessage("net", "7", "1")
		m.In = wholeMessage(m.In.Chat, "g", "1")
		b.equal("the pairing result", b.handleOutsider(m), store.PairingCoded)
		b.equal("the same again", b.handleOutsider(m), store.PairingSeen)
		b.reopen()
		b.equal("the parts", partIDs(b.storedParts()), "[net:of 7 3]")
		b.equal("what is known", []bool{b.known(m.In.Chat, "1"), b.known(m.In.Chat, "2"), b.known(m.In.Chat, "3")}, "[true true false]")
		pairings, err := b.Pairings(ctx)
		b.noError(err)
		if stored := pairings[0].Message; stored.Part != nil || stored.Raw != nil || stored.Text != "whole 1" {
			b.Fatalf("the stored message is %+v", stored)
		}
		for i := range 1000 {
			m.In = wholeMessage(m.In.Chat, "h", fmt.Sprint("other ", i))
			b.handleOutsider(m)
		}
		b.equal("the first is known after many others", b.known(m.In.Chat, "2"), false)
	}},
	{"a person who was admitted meanwhile is not refused and keeps the parts", func(b *fixture) {
		b.admit("net", "7")
		b.storeParts(partOf(outsiderChat("7"), "g", "1"))
		m := b.outsiderMessage("net", "7", "1")
		m.In.Part = &channels.Part{Group: "g", Last: true}
		b.equal("the pairing result", b.handleOutsider(m), store.AlreadyAdmitted)
		b.equal("the parts", partIDs(b.storedParts()), "[net:of 7 1]")
	}},
	{"dropped parts are removed, and their IDs are known", func(b *fixture) {
		b.storeParts(partOf(ann, "g", "1"), partOf(ann, "h", "2"))
		b.noError(b.DropParts(ctx, ann, "g"))
		b.noError(b.DropParts(ctx, ann, "g"))
		b.reopen()
		b.storeParts(partOf(ann, "g", "1"))
		b.equal("the parts", partIDs(b.storedParts()), "[net:ann 2]")
		b.equal("what is known", []bool{b.known(ann, "1"), b.known(ann, "2")}, "[true false]")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1")})
		b.equal("the result", result, store.Duplicate)
	}},
	{"parts of an incomplete message stay for 30 days", func(b *fixture) {
		b.storeParts(partOf(ann, "g", "old"))
		b.advance(20 * 24 * time.Hour)
		b.storeParts(partOf(ann, "g", "young"))
		b.noError(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("the parts", partIDs(b.storedParts()), "[net:ann old net:ann young]")
		b.advance(11 * 24 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("the parts later", partIDs(b.storedParts()), "[net:ann young]")
		b.noError(b.Prune(ctx, store.Retention{}))
		b.reopen()
		b.equal("the parts without limits", partIDs(b.storedParts()), "[net:ann young]")
	}},
}

func outsiderChat(user string) channels.Chat { return channels.Chat{Channel: "net", ID: "of " + user} }

func (b *fixture) storeParts(all ...channels.Incoming) {
	b.Helper()
	for _, in := range all {
		if err := b.StorePart(ctx, in); !errors.Is(err, channels.ErrKnown) {
			b.noError(err)
		}
	}
}

// storedParts returns the stored parts of the channel net.
func (b *fixture) storedParts() []channels.Incoming {
	b.Helper()
	parts, err := b.Parts(ctx, "net")
	b.noError(err)
	return parts
}

func (b *fixture) known(chat channels.Chat, id string) bool {
	b.Helper()
	known, err := b.Known(ctx, chat, id)
	b.noError(err)
	return known
}

// partIDs returns the chats and IDs of parts, in order.
func partIDs(parts []channels.Incoming) string {
	ids := []string{}
	for _, p := range parts {
		ids = append(ids, p.Chat.String()+" "+p.ID)
	}
	return "[" + strings.Join(ids, " ") + "]"
}
