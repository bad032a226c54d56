package storetest

import (
	"reflect"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var receiveTests = []contractTest{
	{"a received message is complete after a restart", func(b *fixture) {
		in := channels.Incoming{
			Chat: ann, ID: "1", Text: "hé\x00 \U0001F600", User: channels.User{ID: "7", Name: "Ann", Username: "ann7"},
			Media: []string{"/tmp/a.png"}, ThreadID: "45", ReplyTo: &channels.Quote{ID: "0", Text: "before", Media: []string{"/tmp/b"}},
		}
		inbound, result := b.receive(store.ReceiveRequest{In: in})
		b.equal("the result", result, store.Queued)
		b.reopen()
		got := b.inbound(inbound.ID)
		if !reflect.DeepEqual(got.In, in) {
			b.Fatalf("got %+v, want %+v", got.In, in)
		}
		if !reflect.DeepEqual(got, inbound) {
			b.Fatalf("Receive returned %+v, the store holds %+v", inbound, got)
		}
		b.equal("its state", got.State, store.Pending)
		b.equal("its attempt", got.Attempt, 0)
		b.equal("its time", got.Received, b.now())
		b.equal("its start and end", []bool{got.Started.IsZero(), got.Ended.IsZero()}, "[true true]")
	}},
	{"times are stored in microseconds and UTC", func(b *fixture) {
		b.advance(1234567 * time.Nanosecond)
		inbound := b.receiveQueued(ann, "1")[0]
		b.reopen()
		got := b.inbound(inbound.ID).Received
		b.equal("the time", got, b.now().Truncate(time.Microsecond))
	}},
	{"the same message again is a duplicate, with the first inbound message", func(b *fixture) {
		first := b.receiveQueued(ann, "1")[0]
		again, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Claim: true})
		b.equal("the result", result, store.Duplicate)
		b.equal("the inbound", again.ID, first.ID)
		b.equal("the inbounds of the chat", b.messageIDs(ann), "[1]")
	}},
	{"a duplicate stays one after a restart and after its turn", func(b *fixture) {
		b.finishDone(b.receiveClaimed(ann, "1").ID)
		b.reopen()
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Settle: true, Answer: outgoingTexts(ann, "no")})
		b.equal("the result", result, store.Duplicate)
		b.nothingToClaim()
		b.nothingToSend(ann)
	}},
	{"the same ID in another chat is another message", func(b *fixture) {
		b.receiveQueued(ann, "1")
		b.receiveQueued(bob, "1")
		b.receiveQueued(channels.Chat{Channel: "other", ID: "ann"}, "1")
	}},
	{"messages without an ID are never duplicates", func(b *fixture) {
		b.receiveQueued(ann, "", "")
		b.equal("how many wait", b.countWaiting(ann), 2)
	}},
	{"the requests of a message are carried out with it, once", func(b *fixture) {
		b.finishDone(b.receiveClaimed(ann, "1").ID)
		b.askQuestion("q", ann)
		a := store.ReceiveRequest{In: incoming(ann, "2"), Settle: true, Restart: 1, StartConversation: true, Reply: &store.Reply{Question: "q", Text: "yes", By: "7"}}
		_, result := b.receive(a)
		b.equal("the result", result, store.Settled)
		b.reopen()
		entries, err := b.History(ctx, ann, 9, 0)
		b.noError(err)
		b.equal("the entries", len(entries), 0)
		q, _, err := b.Question(ctx, "q")
		b.noError(err)
		b.equal("the answer", *q.Answer, "yes")
		b.finishDone(b.claimOne().ID)
		b.receive(a)
		b.nothingToClaim()
	}},
	{"a message may have a failed delivery of its chat sent again, with its files, once", func(b *fixture) {
		copied := b.saveCopy("x.png", "red")
		o := channels.Outgoing{Chat: ann, Text: "failed", Media: []channels.File{{Path: copied, Name: "x.png"}}}
		b.enqueue(store.Outbound{Parts: []channels.Outgoing{o}})
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "later")})
		failed := b.nextDelivery(ann)
		_, err := b.Settle(ctx, failed.ID, store.Settlement{State: store.Failed, Reason: "500", Doubtful: true, Resendable: true})
		b.noError(err)
		checkResendable := func(chat channels.Chat, want bool) {
			got, err := b.IsResendable(ctx, chat, failed.ID)
			b.noError(err)
			b.equal("whether it can be sent again in "+chat.String(), got, want)
		}
		checkResendable(bob, false)
		checkResendable(ann, true)
		b.receive(store.ReceiveRequest{In: incoming(bob, "of another chat"), Settle: true, Resend: failed.ID})
		b.equal("the next one", b.nextDelivery(ann).Out.Text, "later")
		b.noError(b.trySettle(failed.ID+1, store.Sent, "", "", 0))
		again := store.ReceiveRequest{In: incoming(ann, "again"), Settle: true, Resend: failed.ID}
		b.receive(again)
		b.reopen()
		checkResendable(ann, false)
		got := b.nextDelivery(ann)
		b.equal("the text", got.Out.Text, "failed")
		b.equal("whether it may be a repetition", got.Doubtful, true)
		b.equal("the tries", got.Tries, 1)
		b.checkCopy(copied, "red")
		b.settle(got.ID, store.Sent)
		b.receive(again)
		b.receive(store.ReceiveRequest{In: incoming(ann, "pressed twice"), Settle: true, Resend: failed.ID})
		b.nothingToSend(ann)
	}},
	{"a message may cancel the pending messages of its chat, once", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		waiting := b.receiveQueued(ann, "2")[0]
		other := b.receiveQueued(bob, "3")[0]
		b.receive(store.ReceiveRequest{In: incoming(ann, "/stop"), Settle: true, Cancel: true})
		b.reopen()
		b.adopt()
		b.equal("what waited", b.inbound(waiting.ID).State, store.Dead)
		b.equal("what runs", b.inbound(running.ID).State, store.Running)
		b.equal("the status of the running one", b.inbound(running.ID).Outcome.Status, "stopped")
		b.equal("another chat's", b.inbound(other.ID).State, store.Pending)
		b.receiveQueued(ann, "4")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "/stop"), Settle: true, Cancel: true})
		b.equal("the result on the second", result, store.Duplicate)
		b.finishDone(running.ID)
		b.equal("what is left", []string{b.claimOne().In.ID, b.claimOne().In.ID}, "[3 4]")
	}},
	{"a message may stop the running message of its chat and no other", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		waiting := b.receiveQueued(ann, "2")[0]
		other := b.receiveClaimed(bob, "3")
		stop := func(id string, inbound int64) {
			b.Helper()
			_, result := b.receive(store.ReceiveRequest{In: incoming(ann, id), Settle: true, Stop: inbound})
			b.equal("the result", result, store.Settled)
		}
		stop("of a pending one", waiting.ID)
		stop("of another chat's", other.ID)
		stop("of none", 99)
		b.equal("the status of the running one", b.inbound(running.ID).Outcome.Status, "")
		stop("of the running one", running.ID)
		b.reopen()
		b.adopt()
		b.equal("the status of the stopped one", b.inbound(running.ID).Outcome.Status, "stopped")
		b.equal("its state", b.inbound(running.ID).State, store.Running)
		b.equal("what waits", b.inbound(waiting.ID).State, store.Pending)
		b.equal("the status of the pending one", b.inbound(waiting.ID).Outcome.Status, "")
		b.equal("the status of another chat's", b.inbound(other.ID).Outcome.Status, "")
		b.finishDone(running.ID)
		stop("of the ended one", running.ID)
		b.equal("the status of the ended one", b.inbound(running.ID).Outcome.Status, "")
		next := b.claimOne()
		b.equal("what runs next", next.ID, waiting.ID)
		stop("of the ended one again", running.ID)
		b.equal("the status of the next one", b.inbound(next.ID).Outcome.Status, "")
	}},
	{"an answer that is too late is a message like any other", func(b *fixture) {
		b.askQuestion("q", ann)
		reply := func(id string) *store.Reply { return &store.Reply{Question: "q", Text: id, By: "7"} }
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Claim: true, Reply: reply("1")})
		b.equal("the result on the first", result, store.Settled)
		_, result = b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Claim: true, Reply: reply("2")})
		b.equal("the result on the second", result, store.Claimed)
		_, result = b.receive(store.ReceiveRequest{In: incoming(ann, "3"), Reply: reply("3")})
		b.equal("the result on the third", result, store.Queued)
	}},
	{"a stored message with a choice closes its picker and gets a turn", func(b *fixture) {
		b.askQuestion("q", ann)
		choose := func(id string, notWhileRunning bool) store.ReceiveResult {
			a := store.ReceiveRequest{In: incoming(ann, id), Claim: true, NotWhileRunning: notWhileRunning, Reply: &store.Reply{Question: "q", Text: id, By: "7", Turn: true}}
			result, err := b.Receive(ctx, a)
			b.noError(err)
			return result
		}
		running, _ := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Claim: true})
		result := choose("2", true)
		b.equal("the choice of a refused message", []any{result.Disposition, result.Replied, b.question("q").Closed}, "[4 false false]")
		b.finishDone(running.ID)
		result = choose("2", true)
		b.equal("the choice", []any{result.Disposition, result.Replied, *b.question("q").Answer}, "[2 true 2]")
		result = choose("2", false)
		b.equal("the choice of a duplicate", []any{result.Disposition, result.Replied}, "[0 false]")
		result = choose("3", false)
		b.equal("a second choice", []any{result.Disposition, result.Replied, *b.question("q").Answer}, "[1 false 2]")
	}},
	{"a message with impossible requests is stored nevertheless", func(b *fixture) {
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Settle: true, Restart: 99, Reply: &store.Reply{Question: "none"}})
		b.equal("the result", result, store.Settled)
		b.equal("the inbounds of the chat", b.messageIDs(ann), "[1]")
	}},
	{"a channel without a cursor has an empty one", func(b *fixture) {
		b.equal("the cursor", b.cursor("net"), "")
	}},
	{"a message moves the cursor of its channel only", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Cursor: "41"})
		b.noError(b.SetCursor(ctx, "other", "x"))
		b.reopen()
		b.equal("the cursor", b.cursor("net"), "41")
		b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.equal("the cursor after a message without one", b.cursor("net"), "41")
		b.noError(b.SetCursor(ctx, "net", "44"))
		b.equal("the cursor", b.cursor("net"), "44")
		b.equal("the other channel's", b.cursor("other"), "x")
	}},
	{"a duplicate moves the cursor and nothing else", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Cursor: "41"})
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Cursor: "42"})
		b.equal("the cursor", b.cursor("net"), "42")
		b.equal("how many wait", b.countWaiting(ann), 1)
	}},
	{"a settled message is done, and its answer is pending", func(b *fixture) {
		inbound, result := b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true, Claim: true, Answer: outgoingTexts(ann, "one", "two")})
		b.equal("the result", result, store.Settled)
		b.reopen()
		b.equal("its state", b.inbound(inbound.ID).State, store.Done)
		b.equal("its end", b.inbound(inbound.ID).Ended, b.now())
		b.nothingToClaim()
		p := b.nextDelivery(ann)
		b.equal("the delivery's inbound", p.Inbound, inbound.ID)
		b.settle(p.ID, store.Sent)
		b.equal("the rest", b.sendAll(ann), "[two]")
	}},
	{"a settled message does not wait for the chat's running turn", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "/status"), Settle: true})
		b.equal("the result", result, store.Settled)
		b.equal("how many wait", b.countWaiting(ann), 1)
	}},
	{"an unknown inbound message is not found", func(b *fixture) {
		_, found, err := b.Inbound(ctx, 99)
		b.noError(err)
		b.equal("found", found, false)
	}},
	{"Recent returns the newest messages of a chat first, up to a limit", func(b *fixture) {
		b.receiveQueued(ann, "1", "2", "3")
		b.receiveQueued(bob, "4")
		inbounds, err := b.Recent(ctx, ann, 2)
		b.noError(err)
		b.equal("the inbounds", []string{inbounds[0].In.ID, inbounds[1].In.ID}, "[3 2]")
		b.equal("how many", len(inbounds), 2)
	}},
	{"waiting messages are counted by chat and for all chats", func(b *fixture) {
		b.receiveQueued(ann, "1", "2", "3")
		b.receiveQueued(bob, "4")
		b.claimOne()
		b.equal("those of one chat", b.countWaiting(ann), 2)
		b.equal("all", b.countWaiting(channels.Chat{}), 3)
	}},
}

func (b *fixture) cursor(channel string) string {
	b.Helper()
	c, err := b.Cursor(ctx, channel)
	b.noError(err)
	return c
}

func (b *fixture) countWaiting(chat channels.Chat) int {
	b.Helper()
	n, err := b.CountPending(ctx, chat)
	b.noError(err)
	return n
}

// messageIDs returns the message IDs of a chat, newest first.
func (b *fixture) messageIDs(chat channels.Chat) []string {
	b.Helper()
	inbounds, err := b.Recent(ctx, chat, 100)
	b.noError(err)
	ids := []string{}
	for _, i := range inbounds {
		ids = append(ids, i.In.ID)
	}
	return ids
}
