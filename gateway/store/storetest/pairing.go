package storetest

import (
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var strangerTests = []test{
	{"a stranger is given a code once, with the cursor, and the same message again changes nothing", func(b *bench) {
		m := b.stranger("net", "7", "1")
		m.Cursor = "11"
		b.equal("the refusal", b.refuse(m), store.PairingCoded)
		b.reopen()
		again := b.stranger("net", "7", "1")
		again.Cursor = "12"
		b.equal("the refusal of the same", b.refuse(again), store.PairingSeen)
		b.equal("the refusal of the next", b.refuse(b.stranger("net", "7", "2")), store.PairingSilent)
		cursor, err := b.Cursor(ctx, "net")
		b.must(err)
		b.equal("the cursor", cursor, "12")
		b.equal("the code", b.codeOf("net", "7"), m.Code)
		b.equal("what is said", b.sendAll(m.In.Chat), "[code]")
	}},
	{"a message that was received is no stranger's after a revocation", func(b *bench) {
		b.admit("net", "7")
		m := b.stranger("net", "7", "1")
		b.receive(store.ReceiveRequest{In: m.In})
		b.revoke("net", "7")
		b.equal("the refusal", b.refuse(m), store.PairingSeen)
	}},
	{"a stranger's message is no inbound, and what is said to strangers is forgotten once it is sent or failed", func(b *bench) {
		for i, end := range []store.State{store.Sent, store.Failed, store.Unknown} {
			m := b.stranger("net", fmt.Sprint(i), "1")
			b.refuse(m)
			p := b.next(m.In.Chat)
			b.equal("the inbound of what is said", p.Inbound, 0)
			b.settle(p.ID, store.Pending)
			b.settle(b.next(m.In.Chat).ID, end)
			for _, chat := range []channels.Chat{m.In.Chat, {}} {
				left, err := b.Undelivered(ctx, chat, 9)
				b.must(err)
				inbounds, err := b.Recent(ctx, chat, 9)
				b.must(err)
				b.equal("what is left", []any{len(left), len(inbounds)}, "[0 0]")
			}
			if err := b.settled(p.ID, store.Sent, "", "", 0); err == nil {
				b.Fatal("it is still known")
			}
		}
	}},
	{"of a stranger with an open code the newest text is kept, without media, and none when the code has ended", func(b *bench) {
		b.requestPairing("net", "7")
		for i := range 3 {
			m := b.stranger("net", "7", fmt.Sprint("text ", i))
			m.In.Media = []string{"/etc/passwd"}
			m.In.ReplyTo = &channels.Quote{ID: "5", Text: "quoted", Media: []string{"/etc/passwd"}}
			b.refuse(m)
		}
		pairings, err := b.Pairings(ctx)
		b.must(err)
		kept := pairings[0].Message
		b.equal("what is kept", []any{kept.Text, kept.Media, kept.ReplyTo.Text, kept.ReplyTo.Media}, "[text 2 [] quoted []]")
		b.pass(ttl)
		b.must(b.PruneCodes(ctx, ttl))
		pairings, err = b.Pairings(ctx)
		b.must(err)
		b.equal("who is left", len(pairings), 0)
	}},
	{"one code too many ends the oldest of its channel, with its text", func(b *bench) {
		var codes []string
		for i := range 4 {
			m := b.stranger("net", fmt.Sprint(i), "1")
			m.Limits.Open = 3
			b.equal("the refusal", b.refuse(m), store.PairingCoded)
			codes = append(codes, m.Code)
			b.pass(time.Second)
		}
		other := b.requestPairing("other", "0")
		b.equal("the oldest code", b.codeOf("net", "0"), "")
		b.equal("the oldest is accepted", b.accepted(codes[0]), false)
		for _, code := range append(codes[1:], other) {
			b.equal("accepted", b.accepted(code), true)
		}
		b.equal("who is let in without a text", len(b.unwelcomed()), 4)
		m := b.stranger("net", "0", "2") // and gets a new one
		m.Limits.Open = 3
		b.equal("the refusal", b.refuse(m), store.PairingCoded)
	}},
	{"beyond the limit of an hour people are told once an hour to try later, also after a restart", func(b *bench) {
		few := func(channel, user, id string) store.PairingResult {
			m := b.stranger(channel, user, id)
			m.Limits.PerHour, m.Limits.Life = 2, time.Minute
			return b.refuse(m)
		}
		b.equal("the first", few("net", "1", "a"), store.PairingCoded)
		b.pass(10 * time.Minute) // the first code has ended, but was made within the hour
		b.equal("the second", few("net", "2", "a"), store.PairingCoded)
		b.equal("the third", few("net", "3", "a"), store.PairingDeferred)
		b.reopen()
		b.equal("the third again", few("net", "3", "b"), store.PairingSilent)
		b.equal("the fourth", few("net", "4", "a"), store.PairingDeferred)
		b.equal("the first again", few("net", "1", "b"), store.PairingDeferred)
		b.equal("another channel", few("other", "3", "a"), store.PairingCoded)
		b.equal("what the third is told", b.sendAll(channels.Chat{Channel: "net", ID: "of 3"}), "[later]")
		b.must(b.PruneCodes(ctx, time.Minute))
		b.equal("the third after some was forgotten", few("net", "3", "c"), store.PairingSilent)
		b.pass(50 * time.Minute)
		b.equal("the third an hour after the first", few("net", "3", "d"), store.PairingCoded)
		b.equal("the fourth then", few("net", "4", "d"), store.PairingSilent)
		b.pass(10 * time.Minute)
		b.equal("the fourth an hour after the second", few("net", "4", "e"), store.PairingCoded)
	}},
	{"a limit that a clock ahead of time has used up does not last", func(b *bench) {
		b.pass(1000 * time.Hour)
		m := b.stranger("net", "1", "1")
		m.Limits.PerHour = 1
		b.equal("the first", b.refuse(m), store.PairingCoded)
		b.pass(-1000 * time.Hour)
		m = b.stranger("net", "2", "1")
		m.Limits.PerHour = 1
		b.equal("the second", b.refuse(m), store.PairingCoded)
	}},
	{"a flood of strangers' messages pushes nothing out", func(b *bench) {
		done := b.running(ann, "real")
		b.enqueue(store.Outbound{Inbound: done.ID, Sequence: 1, Parts: parts(ann, "answer"), Entry: &store.Entry{Role: "agent", Text: "answer"}})
		b.sendAll(ann)
		b.done(done.ID)
		for i := range 300 {
			m := b.stranger("net", fmt.Sprint(i%30), fmt.Sprint(i))
			m.Limits.Open, m.Limits.PerHour = 5, 10
			b.refuse(m)
			b.sendAll(m.In.Chat)
		}
		b.must(b.Prune(ctx, store.Retention{Count: 1}))
		entries, err := b.History(ctx, ann, 9, 0)
		b.must(err)
		b.equal("how much of the history is left", len(entries), 2)
		pairings, err := b.Pairings(ctx)
		b.must(err)
		b.equal("who has an open code", len(pairings), 5)
	}},
}
