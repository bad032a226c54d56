package storetest

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

var questionTests = []contractTest{
	{"the open questions and some memories of a chat are read together", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q"}, Inbound: running.ID, Chat: ann}, store.Outbound{}))
		b.noError(b.Remember(ctx, ann, "one", "1"))
		b.noError(b.Remember(ctx, ann, "other", "2"))
		b.noError(b.Remember(ctx, bob, "one", "3"))
		b.reopen()
		read, err := b.ReadChat(ctx, ann, "one", "none")
		b.noError(err)
		b.equal("the questions", []any{len(read.Questions), read.Questions[0].ID}, "[1 q]")
		b.equal("the memories", read.Memories, "map[one:1]")
		read, err = b.ReadChat(ctx, cid)
		b.noError(err)
		b.equal("what another chat has", []int{len(read.Questions), len(read.Memories)}, "[0 0]")
	}},
	{"who claims a message learns the conversation, and whether there are open questions", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		b.equal("conversation and questions of a new chat", []any{first.Conversation, first.Asks}, "[ false]")
		b.noError(b.Remember(ctx, ann, store.ConversationMemory, "c1"))
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q"}, Inbound: first.ID, Chat: ann}, store.Outbound{}))
		b.receiveQueued(ann, "2")
		b.noError(b.Requeue(ctx, first.ID, true))
		again := b.claimOne()
		b.equal("with a question", []any{again.ID, again.Conversation, again.Asks}, []any{first.ID, "c1", true})
		b.finishDone(again.ID)
		b.finishDone(b.claimOne().ID)
		third := b.receiveClaimed(ann, "3")
		b.equal("when it is closed", []any{third.Conversation, third.Asks}, "[c1 false]")
		b.equal("as it is stored", b.inbound(third.ID).Conversation, "")
	}},
	{"a question and its message are complete after a restart", func(b *fixture) {
		q := store.Question{Question: terminal.Question{ID: "q", Text: "sure?", Options: []string{"yes", "no"}, Timeout: time.Minute}, Inbound: 4, Chat: ann}
		b.noError(b.Ask(ctx, q, store.Outbound{Inbound: 4, Parts: outgoingTexts(ann, "sure?"), Claim: true}))
		b.reopen()
		got, found, err := b.Question(ctx, "q")
		b.noError(err)
		q.Newest, q.Outbound = true, store.Pending // set by the store
		if !found || !reflect.DeepEqual(got, q) {
			b.Fatalf("got %+v, want %+v", got, q)
		}
		b.equal("what is sent", b.sendAll(ann), "[sure?]")
	}},
	{"an approval is one after a restart, and another question is not", func(b *fixture) {
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "approval", Approval: true}, Chat: ann}, store.Outbound{}))
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "question"}, Chat: ann}, store.Outbound{}))
		b.reopen()
		b.equal("approvals", []bool{b.question("approval").Approval, b.question("question").Approval}, "[true false]")
		open, err := b.OpenQuestions(ctx, ann)
		b.noError(err)
		b.equal("open questions", len(open), 2)
		b.equal("open approvals", []bool{open[0].Approval, open[1].Approval}, "[true false]")
	}},
	{"what other texts do and what the options stand for is known after a restart", func(b *fixture) {
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "picker", Options: []string{"A", "B"}, Commands: []string{"/a", "/b 1"}}, Chat: ann}, store.Outbound{}))
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "permission", OtherText: terminal.OtherTextDismisses}, Chat: ann}, store.Outbound{}))
		b.reopen()
		picker, permission := b.question("picker"), b.question("permission")
		b.equal("commands", picker.Commands, "[/a /b 1]")
		b.equal("pickers", []bool{picker.IsPicker(), permission.IsPicker()}, "[true false]")
		b.equal("other texts", string(picker.OtherText+permission.OtherText), "dismisses")
	}},
	{"a picker stays open when its turn ends, and is no unanswered question of the turn", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "picker", Commands: []string{"/a"}}, Inbound: inbound.ID, Chat: ann}, store.Outbound{}))
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "question"}, Inbound: inbound.ID, Chat: ann}, store.Outbound{}))
		left, err := b.UnansweredQuestions(ctx, ann, inbound.ID)
		b.noError(err)
		b.equal("unanswered questions", len(left), 1)
		_, err = b.Finish(ctx, inbound.ID, store.Done, store.Outcome{})
		b.noError(err)
		b.equal("open questions", b.openQuestionIDs(ann), "picker")
		b.equal("chosen", b.answerQuestion("picker", "A", "7"), true)
	}},
	{"a question is asked once", func(b *fixture) {
		b.askQuestion("q", ann)
		if b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q"}, Chat: ann}, store.Outbound{Parts: outgoingTexts(ann, "again")}) == nil {
			b.Fatal("it was asked again")
		}
		b.equal("what is sent", b.sendAll(ann), "[q]")
	}},
	{"only the first answer counts", func(b *fixture) {
		b.askQuestion("q", ann)
		b.equal("answered", b.answerQuestion("q", "yes", "7"), true)
		b.reopen()
		b.equal("answered again", b.answerQuestion("q", "no", "8"), false)
		q, _, err := b.Question(ctx, "q")
		b.noError(err)
		b.equal("the answer", []string{*q.Answer, q.By}, "[yes 7]")
	}},
	{"an empty answer is an answer", func(b *fixture) {
		b.askQuestion("q", ann)
		b.equal("answered", b.answerQuestion("q", "", "7"), true)
		q, _, err := b.Question(ctx, "q")
		b.noError(err)
		b.equal("it is an answer", q.Answer != nil, true)
		b.equal("the open question", b.openQuestionIDs(ann), "")
	}},
	{"an unknown question cannot be answered", func(b *fixture) {
		b.equal("answered", b.answerQuestion("q", "yes", "7"), false)
		_, found, err := b.Question(ctx, "q")
		b.noError(err)
		b.equal("found", found, false)
	}},
	{"the open questions of a chat are those without an answer", func(b *fixture) {
		b.equal("the open questions", b.openQuestionIDs(ann), "")
		b.askQuestion("z", ann)
		b.askQuestion("a", ann)
		b.askQuestion("other", bob)
		b.equal("the open questions", b.openQuestionIDs(ann), "z a")
		b.answerQuestion("z", "yes", "7")
		b.equal("the open questions", b.openQuestionIDs(ann), "a")
	}},
	{"a withdrawn question is closed and cannot be answered, and an answered one cannot be withdrawn", func(b *fixture) {
		b.askQuestion("q", ann)
		b.askQuestion("answered", ann)
		b.answerQuestion("answered", "yes", "7")
		b.equal("withdrawn", []bool{b.withdraw("q"), b.withdraw("q"), b.withdraw("answered"), b.withdraw("unknown")}, "[true false false false]")
		b.reopen()
		b.equal("the open questions", b.openQuestionIDs(ann), "")
		b.equal("answered", b.answerQuestion("q", "yes", "7"), false)
		b.equal("closed", []bool{b.question("q").Closed, b.question("answered").Closed}, "[true true]")
		b.equal("the answer that was given", *b.question("answered").Answer, "yes")
	}},
	{"the unanswered questions of an inbound message are those without an answer, also expired ones", func(b *fixture) {
		for id, q := range map[string]store.Question{"other": {Inbound: 2}, "open": {Inbound: 1}, "expired": {Question: terminal.Question{Timeout: time.Minute}, Inbound: 1}} {
			q.ID, q.Chat = id, ann
			b.noError(b.Ask(ctx, q, store.Outbound{}))
		}
		for _, id := range []string{"answered", "withdrawn"} {
			b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: id, Timeout: time.Minute}, Inbound: 1, Chat: ann}, store.Outbound{}))
		}
		b.answerQuestion("answered", "yes", "7")
		_, err := b.Withdraw(ctx, "withdrawn")
		b.noError(err)
		b.advance(2 * time.Minute)
		for range 2 {
			left, err := b.UnansweredQuestions(ctx, ann, 1)
			b.noError(err)
			var ids []string
			for _, q := range left {
				ids = append(ids, q.ID)
			}
			slices.Sort(ids)
			b.equal("unanswered", ids, "[expired open]")
			b.noError(b.Prune(ctx, store.Retention{Age: time.Hour})) // closes expired questions
		}
	}},
	{"an expired question can be withdrawn", func(b *fixture) {
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q", Timeout: time.Minute}, Chat: ann}, store.Outbound{}))
		b.advance(time.Hour)
		b.equal("withdrawn", b.withdraw("q"), true)
	}},
	{"the newest question of a chat is the last one asked, open or not", func(b *fixture) {
		b.askQuestion("first", ann)
		b.equal("newest", b.question("first").Newest, true)
		b.askQuestion("second", ann)
		b.askQuestion("other", bob)
		b.withdraw("second")
		b.equal("newest", []bool{b.question("first").Newest, b.question("second").Newest, b.question("other").Newest}, "[false true true]")
	}},
	{"a question has the state and the receipt of its message's last part", func(b *fixture) {
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q"}, Chat: ann}, store.Outbound{Parts: outgoingTexts(ann, "su", "re?")}))
		b.equal("its outbound", b.question("q").Outbound, store.Pending)
		b.sendNext(ann, "message 1")
		b.equal("its outbound", b.question("q").Outbound, store.Pending)
		b.sendNext(ann, "message 2")
		b.reopen()
		b.equal("its outbound", b.question("q").Outbound, store.Sent)
		b.equal("its receipt", b.question("q").Receipt, "message 2")
	}},
	{"an expired question is not open and cannot be answered", func(b *fixture) {
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q", Timeout: time.Minute}, Chat: ann}, store.Outbound{}))
		b.advance(time.Minute - time.Second)
		b.equal("the open question", b.openQuestionIDs(ann), "q")
		b.advance(time.Second)
		b.equal("the open question", b.openQuestionIDs(ann), "")
		b.equal("answered", b.answerQuestion("q", "yes", "7"), false)
	}},
	{"the end of an inbound message closes its open questions and no others", func(b *fixture) {
		b.equal("the inbound", b.receiveClaimed(ann, "1").ID, 1)
		for id, inbound := range map[string]int64{"mine": 1, "answered": 1, "other": 2} {
			chat := channels.Chat{Channel: "net", ID: id}
			b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: id}, Inbound: inbound, Chat: chat}, store.Outbound{}))
		}
		b.answerQuestion("answered", "yes", "7")
		b.finishDone(1)
		b.reopen()
		b.equal("the closed one is answered", b.answerQuestion("mine", "yes", "7"), false)
		b.equal("the closed one is open", b.openQuestionIDs(channels.Chat{Channel: "net", ID: "mine"}), "")
		q, _, err := b.Question(ctx, "answered")
		b.noError(err)
		b.equal("the answer that was given", *q.Answer, "yes")
		b.equal("the other one is answered", b.answerQuestion("other", "yes", "7"), true)
	}},
}

func (b *fixture) askQuestion(id string, chat channels.Chat) {
	b.Helper()
	b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: id}, Chat: chat}, store.Outbound{Parts: outgoingTexts(chat, id)}))
}

func (b *fixture) answerQuestion(id, answer, by string) bool {
	b.Helper()
	in := channels.Incoming{Chat: channels.Chat{Channel: "answers", ID: id}, Text: answer}
	result, err := b.Receive(ctx, store.ReceiveRequest{In: in, Settle: true, Reply: &store.Reply{Question: id, Text: answer, By: by}})
	b.noError(err)
	return result.Replied
}

// openQuestionIDs returns the IDs of a chat's open questions.
func (b *fixture) openQuestionIDs(chat channels.Chat) string {
	b.Helper()
	open, err := b.OpenQuestions(ctx, chat)
	b.noError(err)
	var ids []string
	for _, q := range open {
		ids = append(ids, q.ID)
	}
	return strings.Join(ids, " ")
}

func (b *fixture) question(id string) store.Question {
	b.Helper()
	q, found, err := b.Question(ctx, id)
	b.noError(err)
	b.equal("found", found, true)
	return q
}

func (b *fixture) withdraw(id string) bool {
	b.Helper()
	ok, err := b.Withdraw(ctx, id)
	b.noError(err)
	return ok
}

// sendNext sends the next delivery of a chat.
func (b *fixture) sendNext(chat channels.Chat, receipt string) {
	b.Helper()
	delivery, found, err := b.NextDelivery(ctx, chat, 0)
	b.noError(err)
	b.equal("found", found, true)
	_, err = b.Settle(ctx, delivery.ID, store.Settlement{State: store.Sent, Receipt: receipt})
	b.noError(err)
}
