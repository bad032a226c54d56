package storetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

var retentionTests = []contractTest{
	{"finished inbound messages are pruned by age", func(b *fixture) {
		b.finishDone(b.receiveClaimed(ann, "old").ID)
		b.advance(time.Hour)
		b.finishDone(b.receiveClaimed(ann, "young").ID)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Hour}))
		b.reopen()
		b.equal("what is left", b.messageIDs(ann), "[young]")
	}},
	{"finished inbound messages are pruned by number, oldest first", func(b *fixture) {
		for i := range 5 {
			b.finishDone(b.receiveClaimed(ann, strconv.Itoa(i)).ID)
		}
		b.noError(b.Prune(ctx, store.Retention{Count: 2}))
		b.equal("what is left", b.messageIDs(ann), "[4 3]")
	}},
	{"nothing is pruned without limits", func(b *fixture) {
		b.runTurn(ann, "1", "a")
		b.advance(10000 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{}))
		b.equal("what is left", b.messageIDs(ann), "[1]")
		b.equal("what was said", b.transcript(ann, 9), "[user: 1 agent: a]")
	}},
	{"pending and running messages are never pruned", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2")
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "a", "b")})
		sending := b.nextDelivery(ann)
		b.askQuestion("q", bob)
		b.advance(10000 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("the inbounds", b.messageIDs(ann), "[2 1]")
		b.settle(sending.ID, store.Sent)
		b.equal("what is sent", b.sendAll(ann), "[b]")
		b.equal("the open question", b.openQuestionIDs(bob), "q")
	}},
	{"a message that was pruned is still a duplicate", func(b *fixture) {
		b.finishDone(b.receiveClaimed(ann, "1").ID)
		b.advance(30 * 24 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Hour}))
		b.reopen()
		inbound, result := b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Claim: true})
		b.equal("the result", result, store.Duplicate)
		b.equal("the inbound", inbound.ID, 0)
		b.equal("what is left", b.messageIDs(ann), "[]")
	}},
	{"the memories and the token of a chat go with the ID of its last message", func(b *fixture) {
		const age = 400 * 24 * time.Hour
		keep := store.Retention{Age: time.Hour, Memories: age}
		channel := channels.Chat{Channel: "net"}
		for _, chat := range []channels.Chat{ann, bob, cid, channel} {
			b.noError(b.Remember(ctx, chat, store.LastingPrefix+"choice", "coder"))
		}
		tokens := map[channels.Chat]string{}
		receive := func(chat channels.Chat, id string) {
			inbound := b.receiveClaimed(chat, id)
			tokens[chat] = inbound.Token
			b.finishDone(inbound.ID)
			b.noError(b.Prune(ctx, keep))
		}
		left := func(want string) {
			b.Helper()
			b.noError(b.Prune(ctx, keep))
			got := ""
			for _, chat := range []channels.Chat{ann, bob, cid, channel} {
				_, known, err := b.ChatOfToken(ctx, tokens[chat])
				b.noError(err)
				got += fmt.Sprintf("%s %t ", b.recall(chat, store.LastingPrefix+"choice"), known)
			}
			b.equal("what is left", got, want)
		}
		receive(ann, "1")
		b.advance(time.Minute)
		receive(ann, "2")
		receive(bob, "1")
		receive(cid, "1")
		b.receiveQueued(cid, "") // which waits, and has no ID
		b.advance(age)
		receive(bob, "2")
		b.reopen()
		left("coder true coder true coder true coder false ")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Claim: true})
		b.equal("the last message again", result, store.Duplicate)
		b.advance(time.Second)
		left(" false coder true coder true coder false ")
		b.finishDone(b.claimOne().ID)
		b.advance(age)
		keep.Memories = 0
		left(" false coder true coder true coder false ")
	}},
	{"a pruned ID is not used again", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		b.finishDone(first.ID)
		b.advance(time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: 1}))
		b.reopen()
		if second := b.receiveClaimed(ann, "2"); second.ID <= first.ID {
			b.Fatalf("id %d after %d", second.ID, first.ID)
		}
	}},
	{"settled deliveries are pruned", func(b *fixture) {
		b.enqueue(store.Outbound{Parts: outgoingTexts(ann, "a", "b")})
		b.settle(b.nextDelivery(ann).ID, store.Failed)
		b.settle(b.nextDelivery(ann).ID, store.Unknown)
		b.advance(time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Minute}))
		got, err := b.Undelivered(ctx, ann, 9)
		b.noError(err)
		b.equal("how many are left", len(got), 0)
	}},
	{"the files of a failed delivery that could be sent again are pruned with it", func(b *fixture) {
		copied := b.saveCopy("x.png", "red")
		o := channels.Outgoing{Chat: ann, Media: []channels.File{{Path: copied, Name: "x.png"}}}
		b.enqueue(store.Outbound{Parts: []channels.Outgoing{o}})
		_, err := b.Settle(ctx, b.nextDelivery(ann).ID, store.Settlement{State: store.Failed, Resendable: true})
		b.noError(err)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Hour}))
		b.checkCopy(copied, "red")
		path := b.fetchPath(copied)
		b.advance(2 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Minute}))
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			b.Fatalf("the copy is still there (%v)", err)
		}
	}},
	{"the deliveries of a done inbound message are pruned before it", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		p, _ := b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Claim: true})
		b.settle(p.ID, store.Failed)
		b.advance(time.Hour)
		b.finishDone(inbound.ID)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Minute}))
		got, err := b.Undelivered(ctx, ann, 9)
		b.noError(err)
		b.equal("how many are left", len(got), 0)
		b.equal("the inbounds", b.messageIDs(ann), "[1]")
	}},
	{"the deliveries of an unfinished or interrupted inbound message are kept for its next attempt", func(b *fixture) {
		for _, end := range []store.State{store.Running, store.Interrupted} {
			chat := channels.Chat{Channel: "net", ID: string(end)}
			inbound := b.receiveClaimed(chat, "1")
			l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(chat, "a", "b")}
			b.enqueue(l)
			b.sendAll(chat)
			b.advance(time.Hour)
			if end == store.Interrupted {
				b.noError(b.tryFinish(inbound.ID, end, store.Outcome{}))
			}
			b.noError(b.Prune(ctx, store.Retention{Age: time.Minute, Count: 1}))
			b.requeueAndClaim(inbound.ID)
			b.enqueue(l)
			b.nothingToSend(chat)
			b.finishDone(inbound.ID)
		}
	}},
	{"old entries and questions are pruned", func(b *fixture) {
		b.runTurn(ann, "1", "a")
		b.askQuestion("answered", ann)
		b.answerQuestion("answered", "yes", "7")
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "expired", Timeout: time.Second}, Chat: ann}, store.Outbound{}))
		b.advance(time.Hour)
		b.runTurn(ann, "2", "b")
		b.noError(b.Prune(ctx, store.Retention{Age: time.Minute}))
		b.equal("what was said", b.transcript(ann, 9), "[user: 2 agent: b]")
		for _, id := range []string{"answered", "expired"} {
			_, found, err := b.Question(ctx, id)
			b.noError(err)
			b.equal("question "+id+" is found", found, false)
		}
	}},
	{"pairings are not pruned", func(b *fixture) {
		b.acceptCode(b.issueCode("net", "7"))
		b.advance(10000 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: 1, Count: 1}))
		b.equal("allowed", b.allowed("net", "7"), true)
	}},
	{"many rows are pruned completely", func(b *fixture) {
		const n = 1200
		for i := range n {
			b.receive(store.ReceiveRequest{In: incoming(ann, strconv.Itoa(i)), Settle: true})
		}
		b.advance(time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Minute}))
		b.equal("what is left", b.messageIDs(ann), "[]")
	}},
}
