package storetest

import (
	"errors"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// group is a chat with several people in it.
var group = channels.Chat{Channel: "net", ID: "group"}

// messageOf returns a request for a message of a user in a chat.
func messageOf(user string, chat channels.Chat, id string) store.ReceiveRequest {
	in := incoming(chat, id)
	in.User = channels.User{ID: user}
	return store.ReceiveRequest{In: in}
}

func (b *fixture) dismiss(user string) {
	b.Helper()
	b.noError(b.Dismiss(ctx, store.Person{Channel: "net", User: user}))
}

func (b *fixture) dismissed() []int64 {
	b.Helper()
	ids, _, err := b.Dismissed(ctx)
	b.noError(err)
	return ids
}

var dismissTests = []contractTest{
	{"a dismissed person loses their pending messages in all chats of the channel, and nobody else does", func(b *fixture) {
		gone1, _ := b.receive(messageOf("8", group, "1"))
		stays1, _ := b.receive(messageOf("7", group, "2"))
		gone2, _ := b.receive(messageOf("8", bob, "3"))
		stays2, _ := b.receive(messageOf("8", channels.Chat{Channel: "network", ID: "bob"}, "4"))
		stays3, _ := b.receive(messageOf("88", bob, "5"))
		b.dismiss("8")
		b.reopen()
		for _, i := range []store.Inbound{gone1, gone2} {
			got := b.inbound(i.ID)
			b.equal("what became of it", []any{got.State, got.Outcome.Status, got.Ended.IsZero()}, []any{store.Dead, store.Revoked, false})
		}
		for range 3 {
			i := b.claimOne()
			if i.ID != stays1.ID && i.ID != stays2.ID && i.ID != stays3.ID {
				b.Fatalf("claimed %s", i.In.ID)
			}
		}
		b.nothingToClaim()
		b.equal("the running inbounds that are dismissed", b.dismissed(), "[]")
	}},
	{"a running message of a dismissed person sends nothing more and is returned by Dismissed until it is finished", func(b *fixture) {
		a := messageOf("8", group, "1")
		a.Claim = true
		inbound, _ := b.receive(a)
		other := b.receiveClaimed(ann, "2")
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q", Text: "?"}, Inbound: inbound.ID, Chat: group}, store.Outbound{Inbound: inbound.ID, Parts: outgoingTexts(group, "?")}))
		b.sendAll(group)
		b.dismiss("8")
		b.reopen()
		b.adopt()
		b.equal("dismissed", b.dismissed(), []int64{inbound.ID})
		q, _, err := b.Question(ctx, "q")
		b.noError(err)
		b.equal("closed", q.Closed, true)
		for sequence := range 2 {
			_, sending := b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: sequence, Parts: outgoingTexts(group, "secret"), Claim: true})
			b.equal("sending", sending, false)
		}
		b.nothingToSend(group)
		b.enqueue(store.Outbound{Inbound: other.ID, Sequence: 1, Parts: outgoingTexts(ann, "fine")})
		b.equal("the messages of another inbound", b.sendAll(ann), "[fine]")
		_, err = b.Cancel(ctx, group, 0) // somebody says /stop
		b.noError(err)
		b.equal("dismissed after /stop", b.dismissed(), []int64{inbound.ID})
		b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{Status: "ok"}))
		got := b.inbound(inbound.ID)
		b.equal("its end", []any{got.State, got.Outcome.Status}, []any{store.Done, store.Revoked})
		b.equal("dismissed at last", b.dismissed(), "[]")
	}},
	{"unsent answers to a dismissed person fail, and a send in progress is not repeated", func(b *fixture) {
		a := messageOf("8", group, "1")
		a.Settle, a.Answer = true, outgoingTexts(group, "one", "two")
		first, _ := b.receive(a)
		a = messageOf("7", group, "2")
		a.Settle, a.Answer = true, outgoingTexts(group, "three")
		second, _ := b.receive(a)
		b.enqueue(store.Outbound{Parts: outgoingTexts(group, "a note to 8"), About: first.ID})
		b.enqueue(store.Outbound{Parts: outgoingTexts(group, "a note to 7"), About: second.ID})
		under := b.nextDelivery(group)
		b.dismiss("8")
		b.reopen()
		b.adopt()
		_, deliveries, err := b.Dismissed(ctx)
		b.noError(err)
		b.equal("the sending deliveries to the dismissed person", deliveries, []int64{under.ID})
		b.noError(b.trySettle(under.ID, store.Pending, "", "lost", 0))
		b.equal("what is sent", b.sendAll(group), "[three a note to 7]")
		b.equal("twice", errors.Is(b.trySettle(under.ID, store.Sent, "", "", 0), store.ErrState), true)
	}},
	{"a send in progress to a dismissed person may be confirmed", func(b *fixture) {
		a := messageOf("8", group, "1")
		a.Settle, a.Answer = true, outgoingTexts(group, "one")
		b.receive(a)
		p := b.nextDelivery(group)
		b.dismiss("8")
		b.settle(p.ID, store.Sent)
	}},
	{"a revoked person is dismissed in the same transaction, unless something else admits them", func(b *fixture) {
		b.admit("net", "8")
		b.receive(messageOf("8", group, "1"))
		ok, err := b.Revoke(ctx, store.Person{Channel: "net", User: "8"}, false)
		b.noError(err)
		b.equal("revoked", ok, true)
		b.finishDone(b.claimOne().ID)
		b.admit("net", "8")
		b.receive(messageOf("8", group, "2"))
		b.revoke("net", "8")
		b.nothingToClaim()
	}},
	{"a dismissed person who comes back can start turns again", func(b *fixture) {
		b.receive(messageOf("8", group, "1"))
		b.dismiss("8")
		b.receive(messageOf("8", group, "2"))
		inbound := b.claimOne()
		b.equal("claimed", inbound.In.ID, "2")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(group, "hello")})
		b.equal("what is sent", b.sendAll(group), "[hello]")
	}},
	{"a dismissed turn that is run again can send again", func(b *fixture) {
		a := messageOf("8", group, "1")
		a.Claim = true
		inbound, _ := b.receive(a)
		b.dismiss("8")
		b.finishDone(inbound.ID)
		b.noError(b.Restart(ctx, inbound.ID))
		b.equal("claimed", b.claimOne().ID, inbound.ID)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(group, "hello")})
		b.equal("what is sent", b.sendAll(group), "[hello]")
	}},
	{"busy and unpaired people have pending, running or unsent messages and were not admitted by pairing", func(b *fixture) {
		b.receive(messageOf("1", group, "1"))
		a := messageOf("2", ann, "2")
		a.Claim = true
		b.receive(a)
		a = messageOf("3", bob, "3")
		a.Settle, a.Answer = true, outgoingTexts(bob, "one")
		b.receive(a)
		a = messageOf("4", bob, "4")
		a.Settle = true
		b.receive(a)
		a = messageOf("5", cid, "5")
		b.admit("net", "5")
		b.receive(a)
		b.receive(messageOf("6", channels.Chat{Channel: "network", ID: "x"}, "6"))
		users, err := b.BusyUnpaired(ctx, "net")
		b.noError(err)
		slices.Sort(users)
		b.equal("who is busy", users, "[1 2 3]")
		for _, user := range users {
			b.dismiss(user)
		}
		users, err = b.BusyUnpaired(ctx, "net")
		b.noError(err)
		b.equal("what is left", users, "[2]")
	}},
}
