package storetest

import (
	"reflect"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var questionTests = []test{
	{"a question and its outbound are there after a restart, whole", func(b *bench) {
		q := store.Question{ID: "q", Inbound: 4, Chat: ann, Text: "sure?", Options: []string{"yes", "no"}, Within: time.Minute}
		b.must(b.Ask(ctx, q, store.Outbound{Inbound: 4, Parts: parts(ann, "sure?"), Claim: true}))
		b.reopen()
		got, found, err := b.Question(ctx, "q")
		b.must(err)
		q.Newest, q.Outbound = true, store.Pending // which it was not told
		if !found || !reflect.DeepEqual(got, q) {
			b.Fatalf("got %+v, want %+v", got, q)
		}
		b.equal("what is sent", b.sendAll(ann), "[sure?]")
	}},
	{"a question that only approvers may answer is one after a restart, and another is not", func(b *bench) {
		b.must(b.Ask(ctx, store.Question{ID: "approval", Chat: ann, Approval: true}, store.Outbound{}))
		b.must(b.Ask(ctx, store.Question{ID: "question", Chat: ann}, store.Outbound{}))
		b.reopen()
		b.equal("approvals", []bool{b.question("approval").Approval, b.question("question").Approval}, "[true false]")
		open, err := b.OpenQuestions(ctx, ann)
		b.must(err)
		b.equal("open questions", len(open), 2)
		b.equal("open approvals", []bool{open[0].Approval, open[1].Approval}, "[true false]")
	}},
	{"a question is asked once", func(b *bench) {
		b.ask("q", ann)
		if b.Ask(ctx, store.Question{ID: "q", Chat: ann}, store.Outbound{Parts: parts(ann, "again")}) == nil {
			b.Fatal("it was asked again")
		}
		b.equal("what is sent", b.sendAll(ann), "[q]")
	}},
	{"the first answer counts", func(b *bench) {
		b.ask("q", ann)
		b.equal("answered", b.answer("q", "yes", "7"), true)
		b.reopen()
		b.equal("answered again", b.answer("q", "no", "8"), false)
		q, _, err := b.Question(ctx, "q")
		b.must(err)
		b.equal("the answer", []string{*q.Answer, q.By}, "[yes 7]")
	}},
	{"an empty answer is an answer", func(b *bench) {
		b.ask("q", ann)
		b.equal("answered", b.answer("q", "", "7"), true)
		q, _, err := b.Question(ctx, "q")
		b.must(err)
		b.equal("it is an answer", q.Answer != nil, true)
		b.equal("the open question", b.openQuestion(ann), "")
	}},
	{"an unknown question takes no answer", func(b *bench) {
		b.equal("answered", b.answer("q", "yes", "7"), false)
		_, found, err := b.Question(ctx, "q")
		b.must(err)
		b.equal("found", found, false)
	}},
	{"the open questions of a chat are those without an answer", func(b *bench) {
		b.equal("the open questions", b.openQuestion(ann), "")
		b.ask("z", ann)
		b.ask("a", ann)
		b.ask("other", bob)
		b.equal("the open questions", b.openQuestion(ann), "z a")
		b.answer("z", "yes", "7")
		b.equal("the open questions", b.openQuestion(ann), "a")
	}},
	{"a withdrawn question is not open and takes no answer, and an answered one is not withdrawn", func(b *bench) {
		b.ask("q", ann)
		b.ask("answered", ann)
		b.answer("answered", "yes", "7")
		b.equal("withdrawn", []bool{b.withdraw("q"), b.withdraw("q"), b.withdraw("answered"), b.withdraw("unknown")}, "[true false false false]")
		b.reopen()
		b.equal("the open questions", b.openQuestion(ann), "")
		b.equal("answered", b.answer("q", "yes", "7"), false)
		b.equal("closed", []bool{b.question("q").Closed, b.question("answered").Closed}, "[true true]")
		b.equal("the answer that was given", *b.question("answered").Answer, "yes")
	}},
	{"an expired question can be withdrawn", func(b *bench) {
		b.must(b.Ask(ctx, store.Question{ID: "q", Chat: ann, Within: time.Minute}, store.Outbound{}))
		b.pass(time.Hour)
		b.equal("withdrawn", b.withdraw("q"), true)
	}},
	{"the newest question of a chat is the last that was asked there, open or not", func(b *bench) {
		b.ask("first", ann)
		b.equal("newest", b.question("first").Newest, true)
		b.ask("second", ann)
		b.ask("other", bob)
		b.withdraw("second")
		b.equal("newest", []bool{b.question("first").Newest, b.question("second").Newest, b.question("other").Newest}, "[false true true]")
	}},
	{"a question knows what became of the last part of its outbound", func(b *bench) {
		b.must(b.Ask(ctx, store.Question{ID: "q", Chat: ann}, store.Outbound{Parts: parts(ann, "su", "re?")}))
		b.equal("its outbound", b.question("q").Outbound, store.Pending)
		b.send(ann, "message 1")
		b.equal("its outbound", b.question("q").Outbound, store.Pending)
		b.send(ann, "message 2")
		b.reopen()
		b.equal("its outbound", b.question("q").Outbound, store.Sent)
		b.equal("its receipt", b.question("q").Receipt, "message 2")
	}},
	{"an expired question is not open and takes no answer", func(b *bench) {
		b.must(b.Ask(ctx, store.Question{ID: "q", Chat: ann, Within: time.Minute}, store.Outbound{}))
		b.pass(time.Minute - time.Second)
		b.equal("the open question", b.openQuestion(ann), "q")
		b.pass(time.Second)
		b.equal("the open question", b.openQuestion(ann), "")
		b.equal("answered", b.answer("q", "yes", "7"), false)
	}},
	{"the end of an inbound closes its open questions and no others", func(b *bench) {
		b.equal("the inbound", b.running(ann, "1").ID, 1)
		for id, inbound := range map[string]int64{"mine": 1, "answered": 1, "other": 2} {
			chat := channels.Chat{Channel: "net", ID: id}
			b.must(b.Ask(ctx, store.Question{ID: id, Inbound: inbound, Chat: chat}, store.Outbound{}))
		}
		b.answer("answered", "yes", "7")
		b.done(1)
		b.reopen()
		b.equal("the closed one is answered", b.answer("mine", "yes", "7"), false)
		b.equal("the closed one is open", b.openQuestion(channels.Chat{Channel: "net", ID: "mine"}), "")
		q, _, err := b.Question(ctx, "answered")
		b.must(err)
		b.equal("the answer that was given", *q.Answer, "yes")
		b.equal("the other one is answered", b.answer("other", "yes", "7"), true)
	}},
}

func (b *bench) ask(id string, chat channels.Chat) {
	b.Helper()
	b.must(b.Ask(ctx, store.Question{ID: id, Chat: chat}, store.Outbound{Parts: parts(chat, id)}))
}

func (b *bench) answer(id, answer, by string) bool {
	b.Helper()
	ok, err := b.Answer(ctx, id, answer, by)
	b.must(err)
	return ok
}

// openQuestion names the open questions of a chat.
func (b *bench) openQuestion(chat channels.Chat) string {
	b.Helper()
	open, err := b.OpenQuestions(ctx, chat)
	b.must(err)
	var ids []string
	for _, q := range open {
		ids = append(ids, q.ID)
	}
	return strings.Join(ids, " ")
}

func (b *bench) question(id string) store.Question {
	b.Helper()
	q, found, err := b.Question(ctx, id)
	b.must(err)
	b.equal("found", found, true)
	return q
}

func (b *bench) withdraw(id string) bool {
	b.Helper()
	ok, err := b.Withdraw(ctx, id)
	b.must(err)
	return ok
}

// send sends the next delivery of a chat.
func (b *bench) send(chat channels.Chat, receipt string) {
	b.Helper()
	p, found, err := b.NextDelivery(ctx, chat)
	b.must(err)
	b.equal("found", found, true)
	_, err = b.Settle(ctx, p.ID, store.Settlement{State: store.Sent, Receipt: receipt})
	b.must(err)
}
