package storetest

import (
	"fmt"
	"strconv"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

var proofTests = []contractTest{
	{"each message has an answer or a reason, and each send a receipt or a mark", func(b *fixture) {
		b.answerTurn(b.receiveClaimed(ann, "answered"), store.Sent)
		b.answerTurn(b.receiveClaimed(ann, "failed"), store.Failed)
		silent := b.receiveClaimed(ann, "silent")
		b.receiveQueued(ann, "over quota")
		b.advance(time.Second)
		injected := b.receiveQueued(ann, "injected too")[0]
		_, err := b.Finish(ctx, silent.ID, store.Done, store.Outcome{Status: "silent"}, injected.ID)
		b.noError(err)
		b.noError(b.tryFinish(b.claimOne().ID, store.Dead, store.Outcome{Status: store.OverQuota}))
		b.receive(store.ReceiveRequest{
			In: incoming(ann, "/help"), Settle: true, Reason: store.ByCommand, Answer: outgoingTexts(ann, "help"),
		})
		b.noError(b.trySettle(b.nextDelivery(ann).ID, store.Sent, "r", "", 0))
		b.receive(store.ReceiveRequest{In: incoming(bob, "too many"), Settle: true, Reason: "rate_limited"})
		b.noError(b.SettlePending(ctx, b.receiveQueued(bob, "read")[0].ID))
		cancelled := b.receiveQueued(bob, "cancelled")[0]
		_, err = b.Cancel(ctx, bob, cancelled.ID)
		b.noError(err)
		b.noError(b.tryFinish(b.receiveClaimed(bob, "cut off").ID, store.Interrupted, store.Outcome{Status: "stopped"}))
		for _, status := range []string{"failed", "done"} {
			quiet := incoming(bob, "quiet "+status)
			quiet.Origin = channels.BySchedule("hourly")
			b.receive(store.ReceiveRequest{In: quiet})
			b.noError(b.tryFinish(b.claimOne().ID, store.Done, store.Outcome{Status: status}))
		}
		edit := incoming(ann, "answered")
		edit.Text, edit.Change = "better", channels.Edited
		b.changeMessage(store.ChangeRequest{In: edit})
		b.reopen()
		p := b.prove(store.ProofRequest{})
		b.equal("the open ones", p.Open, "[]")
		b.equal("the reasons", p.Reasons, "map[cancelled:1 command:1 edited:1 failed:1 interrupted:1 quota:1 rate_limited:1 read:2 silent:2 undelivered:1]")
		b.equal("the messages", []int{p.In, p.Answered}, "[13 1]")
		b.equal("the sends", []int{p.Sends, p.Receipts, p.Marked}, "[3 2 1]")
	}},
	{"what is not explained is open", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "settled"), Settle: true})
		b.finishDone(b.receiveClaimed(ann, "not answered").ID)
		unconfirmed := b.receiveClaimed(ann, "sent")
		b.enqueue(store.Outbound{Inbound: unconfirmed.ID, Sequence: 1, Parts: outgoingTexts(ann, "x")})
		b.settle(b.nextDelivery(ann).ID, store.Sent)
		b.finishDone(unconfirmed.ID)
		b.enqueue(store.Outbound{Inbound: 99, Sequence: 1, Parts: outgoingTexts(ann, "of a lost message")})
		b.noError(b.trySettle(b.nextDelivery(ann).ID, store.Sent, "r", "", 0))
		b.receive(store.ReceiveRequest{In: incoming(ann, ""), Settle: true, Reason: store.BySend})
		p := b.prove(store.ProofRequest{})
		b.equal("the open ones", openOnes(p),
			"[message 4 no_answer message 2 no_answer message 1 no_reason send 2 message_lost send 1 no_receipt]")
		b.equal("the messages", []int{p.In, p.Answered, len(p.Reasons)}, "[4 1 0]")
		b.equal("the sends", []int{p.Sends, p.Receipts, p.Marked}, "[2 0 0]")
	}},
	{"what is unfinished is open when it is older than normal", func(b *fixture) {
		running := b.receiveClaimed(ann, "running")
		b.receiveQueued(ann, "waits")
		b.receiveClaimed(bob, "asks")
		b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: outgoingTexts(ann, "x")})
		b.advance(time.Hour)
		p := b.prove(store.ProofRequest{Due: time.Hour})
		b.equal("the open ones", p.Open, "[]")
		b.equal("the reasons", p.Reasons, "map[pending:1 running:2]")
		b.equal("the sends", []int{p.Sends, p.NotDue}, "[0 1]")
		b.advance(time.Second)
		b.receiveQueued(bob, "waits for a late one")
		p = b.prove(store.ProofRequest{Due: time.Hour})
		b.equal("those that are late", openOnes(p), "[message 3 overdue message 2 overdue message 1 overdue send 1 overdue]")
		b.equal("the age", p.Open[0].Age, time.Hour+time.Second)
		b.equal("the rest", p.Reasons, "map[pending:1]")
	}},
	{"a message waits as long as the turn of its chat is normal or asks a person", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2", "3")
		b.advance(time.Hour)
		b.answerTurn(first, store.Sent)
		second := b.claimOne()
		b.advance(time.Hour)
		p := b.prove(store.ProofRequest{Due: time.Hour})
		b.equal("behind a turn", p.Reasons, "map[pending:1 running:1]")
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q", Text: "?"}, Inbound: second.ID, Chat: ann},
			store.Outbound{Inbound: second.ID, Sequence: 1, Parts: outgoingTexts(ann, "?")}))
		b.noError(b.trySettle(b.nextDelivery(ann).ID, store.Sent, "r", "", 0))
		b.advance(time.Hour)
		p = b.prove(store.ProofRequest{Due: time.Hour})
		b.equal("behind a question", p.Reasons, "map[pending:1 running:1]")
		b.equal("the open ones", p.Open, "[]")
		b.advance(time.Second)
		b.receive(store.ReceiveRequest{
			In: incoming(ann, "yes"), Settle: true, Reason: store.ByAnswer, Reply: &store.Reply{Question: "q", Text: "yes"},
		})
		p = b.prove(store.ProofRequest{Due: time.Hour})
		b.equal("after the answer", p.Reasons, "map[answer:1 pending:1 running:1]")
		b.equal("the ones that are open then", p.Open, "[]")
	}},
	{"only what came since a time counts", func(b *fixture) {
		b.answerTurn(b.receiveClaimed(ann, "1"), store.Sent)
		b.advance(time.Hour)
		for i := range 1001 { // more than one query reads
			b.receive(store.ReceiveRequest{In: incoming(bob, strconv.Itoa(i)), Settle: true, Reason: store.ByCommand})
		}
		p := b.prove(store.ProofRequest{Since: time.Minute})
		b.equal("the last minute", []int{p.In, p.Reasons[store.ByCommand], p.Sends}, "[1001 1001 0]")
		b.equal("since when", p.Since.Equal(b.now().Add(-time.Minute)), true)
		p = b.prove(store.ProofRequest{Kept: 1001})
		b.equal("as far as all are kept", []int{p.In, p.Sends}, "[1001 0]")
	}},
}

// answerTurn answers a message, ends its turn, and settles the answer.
func (b *fixture) answerTurn(inbound store.Inbound, state store.State) {
	b.Helper()
	chat := inbound.In.Chat
	b.enqueue(store.Outbound{
		Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(chat, "answer"), Entry: &store.Entry{Text: "answer"},
	})
	b.noError(b.trySettle(b.nextDelivery(chat).ID, state, "receipt", "", 0))
	b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{Status: "done"}))
}

// prove makes a proof of the last day, unless the request has another time.
func (b *fixture) prove(request store.ProofRequest) store.Proof {
	b.Helper()
	if request.Since == 0 {
		request.Since = 24 * time.Hour
	}
	p, err := b.Prove(ctx, request)
	b.noError(err)
	return p
}

func openOnes(p store.Proof) (all []string) {
	for _, u := range p.Open {
		kind := "message"
		if u.Send {
			kind = "send"
		}
		all = append(all, fmt.Sprint(kind, " ", u.ID, " ", u.Problem))
	}
	return all
}
