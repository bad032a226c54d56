package storetest

import (
	"errors"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// group is a chat with several people in it.
var group = channels.Chat{Channel: "net", ID: "group"}

// by is a message of a user in a chat.
func by(user string, chat channels.Chat, id string) store.ReceiveRequest {
	in := incoming(chat, id)
	in.User = channels.User{ID: user}
	return store.ReceiveRequest{In: in}
}

func (b *bench) dismiss(user string) {
	b.Helper()
	b.must(b.Dismiss(ctx, store.Person{Channel: "net", User: user}))
}

func (b *bench) dismissed() []int64 {
	b.Helper()
	ids, _, err := b.Dismissed(ctx)
	b.must(err)
	return ids
}

var dismissTests = []test{
	{"who is dismissed loses what waits in all chats of the channel, and nobody else does", func(b *bench) {
		gone1, _ := b.receive(by("8", group, "1"))
		stays1, _ := b.receive(by("7", group, "2"))
		gone2, _ := b.receive(by("8", bob, "3"))
		stays2, _ := b.receive(by("8", channels.Chat{Channel: "network", ID: "bob"}, "4"))
		stays3, _ := b.receive(by("88", bob, "5"))
		b.dismiss("8")
		b.reopen()
		for _, i := range []store.Inbound{gone1, gone2} {
			got := b.inbound(i.ID)
			b.equal("what became of it", []any{got.State, got.Outcome.Status, got.Ended.IsZero()}, []any{store.Dead, store.Revoked, false})
		}
		for range 3 {
			i := b.claim()
			if i.ID != stays1.ID && i.ID != stays2.ID && i.ID != stays3.ID {
				b.Fatalf("claimed %s", i.In.ID)
			}
		}
		b.nothingToClaim()
		b.equal("the running inbounds that are dismissed", b.dismissed(), "[]")
	}},
	{"a running inbound of who is dismissed says nothing more and is known until it is finished", func(b *bench) {
		a := by("8", group, "1")
		a.Claim = true
		inbound, _ := b.receive(a)
		other := b.running(ann, "2")
		b.must(b.Ask(ctx, store.Question{ID: "q", Inbound: inbound.ID, Chat: group, Text: "?"}, store.Outbound{Inbound: inbound.ID, Parts: parts(group, "?")}))
		b.sendAll(group)
		b.dismiss("8")
		b.reopen()
		b.adopt()
		b.equal("dismissed", b.dismissed(), []int64{inbound.ID})
		q, _, err := b.Question(ctx, "q")
		b.must(err)
		b.equal("closed", q.Closed, true)
		for place := range 2 {
			_, sending := b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: place, Parts: parts(group, "secret"), Claim: true})
			b.equal("sending", sending, false)
		}
		b.nothingToSend(group)
		b.enqueue(store.Outbound{Inbound: other.ID, Sequence: 1, Parts: parts(ann, "fine")})
		b.equal("what another inbound says", b.sendAll(ann), "[fine]")
		_, err = b.Cancel(ctx, group, 0) // somebody says /stop
		b.must(err)
		b.equal("dismissed after /stop", b.dismissed(), []int64{inbound.ID})
		b.must(b.finish(inbound.ID, store.Done, store.Outcome{Status: "ok"}))
		got := b.inbound(inbound.ID)
		b.equal("its end", []any{got.State, got.Outcome.Status}, []any{store.Done, store.Revoked})
		b.equal("dismissed at last", b.dismissed(), "[]")
	}},
	{"what answers who is dismissed and is not sent yet fails, and a send under way is not repeated", func(b *bench) {
		a := by("8", group, "1")
		a.Settle, a.Answer = true, parts(group, "one", "two")
		first, _ := b.receive(a)
		a = by("7", group, "2")
		a.Settle, a.Answer = true, parts(group, "three")
		second, _ := b.receive(a)
		b.enqueue(store.Outbound{Parts: parts(group, "a note to 8"), About: first.ID})
		b.enqueue(store.Outbound{Parts: parts(group, "a note to 7"), About: second.ID})
		under := b.next(group)
		b.dismiss("8")
		b.reopen()
		b.adopt()
		_, deliveries, err := b.Dismissed(ctx)
		b.must(err)
		b.equal("what is being sent to who is dismissed", deliveries, []int64{under.ID})
		b.must(b.settled(under.ID, store.Pending, "", "lost", 0))
		b.equal("what is sent", b.sendAll(group), "[three a note to 7]")
		b.equal("twice", errors.Is(b.settled(under.ID, store.Sent, "", "", 0), store.ErrState), true)
	}},
	{"a send under way to who is dismissed may be confirmed", func(b *bench) {
		a := by("8", group, "1")
		a.Settle, a.Answer = true, parts(group, "one")
		b.receive(a)
		p := b.next(group)
		b.dismiss("8")
		b.settle(p.ID, store.Sent)
	}},
	{"who is revoked is dismissed in the same step, unless something else lets them in", func(b *bench) {
		b.admit("net", "8")
		b.receive(by("8", group, "1"))
		ok, err := b.Revoke(ctx, store.Person{Channel: "net", User: "8"}, false)
		b.must(err)
		b.equal("revoked", ok, true)
		b.done(b.claim().ID)
		b.admit("net", "8")
		b.receive(by("8", group, "2"))
		b.revoke("net", "8")
		b.nothingToClaim()
	}},
	{"who is dismissed and comes back starts anew", func(b *bench) {
		b.receive(by("8", group, "1"))
		b.dismiss("8")
		b.receive(by("8", group, "2"))
		inbound := b.claim()
		b.equal("claimed", inbound.In.ID, "2")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(group, "hello")})
		b.equal("what is sent", b.sendAll(group), "[hello]")
	}},
	{"a dismissed turn that is run again speaks again", func(b *bench) {
		a := by("8", group, "1")
		a.Claim = true
		inbound, _ := b.receive(a)
		b.dismiss("8")
		b.done(inbound.ID)
		b.must(b.Restart(ctx, inbound.ID))
		b.equal("claimed", b.claim().ID, inbound.ID)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(group, "hello")})
		b.equal("what is sent", b.sendAll(group), "[hello]")
	}},
	{"busy and unpaired is who has something waiting, running or unsent and was not let in by pairing", func(b *bench) {
		b.receive(by("1", group, "1"))
		a := by("2", ann, "2")
		a.Claim = true
		b.receive(a)
		a = by("3", bob, "3")
		a.Settle, a.Answer = true, parts(bob, "one")
		b.receive(a)
		a = by("4", bob, "4")
		a.Settle = true
		b.receive(a)
		a = by("5", cid, "5")
		b.admit("net", "5")
		b.receive(a)
		b.receive(by("6", channels.Chat{Channel: "network", ID: "x"}, "6"))
		users, err := b.BusyUnpaired(ctx, "net")
		b.must(err)
		slices.Sort(users)
		b.equal("who is busy", users, "[1 2 3]")
		for _, user := range users {
			b.dismiss(user)
		}
		users, err = b.BusyUnpaired(ctx, "net")
		b.must(err)
		b.equal("who is left", users, "[2]")
	}},
}
