package storetest

import (
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var outsiderTests = []contractTest{
	{"an outsider gets a code once, with the cursor, and a duplicate changes only the cursor", func(b *fixture) {
		m := b.outsiderMessage("net", "7", "1")
		m.Cursor = "11"
		b.equal("the pairing result", b.handleOutsider(m), store.PairingCoded)
		b.reopen()
		again := b.outsiderMessage("net", "7", "1")
		again.Cursor = "12"
		b.equal("the pairing result of the same", b.handleOutsider(again), store.PairingSeen)
		b.equal("the pairing result of the next", b.handleOutsider(b.outsiderMessage("net", "7", "2")), store.PairingSilent)
		cursor, err := b.Cursor(ctx, "net")
		b.noError(err)
		b.equal("the cursor", cursor, "12")
		b.equal("the code", b.codeOf("net", "7"), m.Code)
		b.equal("what is sent", b.sendAll(m.In.Chat), "[code]")
	}},
	{"a message that was received before a revocation is a duplicate after it", func(b *fixture) {
		b.admit("net", "7")
		m := b.outsiderMessage("net", "7", "1")
		b.receive(store.ReceiveRequest{In: m.In})
		b.revoke("net", "7")
		b.equal("the pairing result", b.handleOutsider(m), store.PairingSeen)
	}},
	{"an outsider's message is not an inbound message, and answers to outsiders are removed once settled", func(b *fixture) {
		for i, end := range []store.State{store.Sent, store.Failed, store.Unknown} {
			m := b.outsiderMessage("net", fmt.Sprint(i), "1")
			b.handleOutsider(m)
			p := b.nextDelivery(m.In.Chat)
			b.equal("the inbound of what is said", p.Inbound, 0)
			b.settle(p.ID, store.Pending)
			b.settle(b.nextDelivery(m.In.Chat).ID, end)
			for _, chat := range []channels.Chat{m.In.Chat, {}} {
				left, err := b.Undelivered(ctx, chat, 9)
				b.noError(err)
				inbounds, err := b.Recent(ctx, chat, 9)
				b.noError(err)
				b.equal("what is left", []any{len(left), len(inbounds)}, "[0 0]")
			}
			if err := b.trySettle(p.ID, store.Sent, "", "", 0); err == nil {
				b.Fatal("it is still known")
			}
		}
	}},
	{"the newest text of an outsider is stored without media while their code is valid", func(b *fixture) {
		b.issueCode("net", "7")
		for i := range 3 {
			m := b.outsiderMessage("net", "7", fmt.Sprint("text ", i))
			m.In.Media = []string{"/etc/passwd"}
			m.In.ReplyTo = &channels.Quote{ID: "5", Text: "quoted", Media: []string{"/etc/passwd"}}
			b.handleOutsider(m)
		}
		pairings, err := b.Pairings(ctx)
		b.noError(err)
		stored := pairings[0].Message
		b.equal("what is stored", []any{stored.Text, stored.Media, stored.ReplyTo.Text, stored.ReplyTo.Media}, "[text 2 [] quoted []]")
		b.advance(ttl)
		b.noError(b.PruneCodes(ctx, ttl))
		pairings, err = b.Pairings(ctx)
		b.noError(err)
		b.equal("what is left", len(pairings), 0)
	}},
	{"a code beyond the limit ends the oldest code of its channel, with its text", func(b *fixture) {
		var codes []string
		for i := range 4 {
			m := b.outsiderMessage("net", fmt.Sprint(i), "1")
			m.Limits.Open = 3
			b.equal("the pairing result", b.handleOutsider(m), store.PairingCoded)
			codes = append(codes, m.Code)
			b.advance(time.Second)
		}
		other := b.issueCode("other", "0")
		b.equal("the oldest code", b.codeOf("net", "0"), "")
		b.equal("the oldest is accepted", b.acceptCode(codes[0]), false)
		for _, code := range append(codes[1:], other) {
			b.equal("accepted", b.acceptCode(code), true)
		}
		b.equal("who is to be greeted", len(b.pairingsToGreet()), 4)
		m := b.outsiderMessage("net", "0", "2") // and gets a new one
		m.Limits.Open = 3
		b.equal("the pairing result", b.handleOutsider(m), store.PairingCoded)
	}},
	{"beyond the hourly limit, people are told once an hour to try later, also after a restart", func(b *fixture) {
		request := func(channel, user, id string) store.PairingResult {
			m := b.outsiderMessage(channel, user, id)
			m.Limits.PerHour, m.Limits.Life = 2, time.Minute
			return b.handleOutsider(m)
		}
		b.equal("the first", request("net", "1", "a"), store.PairingCoded)
		b.advance(10 * time.Minute) // the first code has ended, but was made within the hour
		b.equal("the second", request("net", "2", "a"), store.PairingCoded)
		b.equal("the third", request("net", "3", "a"), store.PairingDeferred)
		b.reopen()
		b.equal("the third again", request("net", "3", "b"), store.PairingSilent)
		b.equal("the fourth", request("net", "4", "a"), store.PairingDeferred)
		b.equal("the first again", request("net", "1", "b"), store.PairingDeferred)
		b.equal("another channel", request("other", "3", "a"), store.PairingCoded)
		b.equal("what the third is told", b.sendAll(channels.Chat{Channel: "net", ID: "of 3"}), "[later]")
		b.noError(b.PruneCodes(ctx, time.Minute))
		b.equal("the third after PruneCodes", request("net", "3", "c"), store.PairingSilent)
		b.advance(50 * time.Minute)
		b.equal("the third an hour after the first", request("net", "3", "d"), store.PairingCoded)
		b.equal("the fourth then", request("net", "4", "d"), store.PairingSilent)
		b.advance(10 * time.Minute)
		b.equal("the fourth an hour after the second", request("net", "4", "e"), store.PairingCoded)
	}},
	{"codes issued by a clock that was ahead do not count once the clock is right", func(b *fixture) {
		b.advance(1000 * time.Hour)
		m := b.outsiderMessage("net", "1", "1")
		m.Limits.PerHour = 1
		b.equal("the first", b.handleOutsider(m), store.PairingCoded)
		b.advance(-1000 * time.Hour)
		m = b.outsiderMessage("net", "2", "1")
		m.Limits.PerHour = 1
		b.equal("the second", b.handleOutsider(m), store.PairingCoded)
	}},
	{"many messages of outsiders displace nothing else", func(b *fixture) {
		done := b.receiveClaimed(ann, "real")
		b.enqueue(store.Outbound{Inbound: done.ID, Sequence: 1, Parts: outgoingTexts(ann, "answer"), Entry: &store.Entry{Role: "agent", Text: "answer"}})
		b.sendAll(ann)
		b.finishDone(done.ID)
		for i := range 300 {
			m := b.outsiderMessage("net", fmt.Sprint(i%30), fmt.Sprint(i))
			m.Limits.Open, m.Limits.PerHour = 5, 10
			b.handleOutsider(m)
			b.sendAll(m.In.Chat)
		}
		b.noError(b.Prune(ctx, store.Retention{Count: 1}))
		entries, err := b.History(ctx, ann, 9, 0)
		b.noError(err)
		b.equal("how much of the history is left", len(entries), 2)
		pairings, err := b.Pairings(ctx)
		b.noError(err)
		b.equal("who has an open code", len(pairings), 5)
	}},
}
