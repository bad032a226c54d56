package storetest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var searchTests = []contractTest{
	{"Search finds messages with all words, the newest first, in one chat", func(b *fixture) {
		b.runTurn(ann, "1", "The Invoice of May", "nothing")
		b.runTurn(bob, "2", "the invoice of May")
		b.runTurn(ann, "3", "an invoice of June", "INVOICE, of may!")
		b.reopen()
		b.equal("two words", b.search("invoice MAY"), "[agent: INVOICE, of may! agent: The Invoice of May]")
		b.equal("in another order", b.search("may, (invoice)"), "[agent: INVOICE, of may! agent: The Invoice of May]")
		b.equal("what a person wrote", b.search("1"), "[user: 1]")
		b.equal("a word that is not there", b.search("invoice july"), "[]")
		b.equal("the first", b.searchTexts(store.SearchFilter{Chat: ann, Text: "invoice", Limit: 1}), "[agent: INVOICE, of may!]")
		b.equal("no more than wanted", b.searchTexts(store.SearchFilter{Chat: ann, Text: "invoice"}), "[]")
		b.equal("a chat without turns", b.searchTexts(store.SearchFilter{Chat: channels.Chat{Channel: "net", ID: "an"}, Text: "invoice", Limit: 9}), "[]")
	}},
	{"of the last word the beginning is enough", func(b *fixture) {
		b.runTurn(ann, "1", "send the newsletter")
		b.equal("the beginning of the last word", b.search("send newsl"), "[agent: send the newsletter]")
		b.equal("of another word", b.search("newsl send"), "[]")
		b.equal("the end", b.search("letter"), "[]")
	}},
	{"Search ignores case and diacritics", func(b *fixture) {
		texts := []string{"Über die Straße", "Cafe\u0301 na\u00efve", "Привет МИР", "ΑΒΓ", "שלום עולם", "مرحبا بالعالم", "日本語"}
		b.runTurn(ann, "1", texts...)
		for search, want := range map[string]string{
			"uber STRASSE": "", "uber straße": texts[0], "ÜBER": texts[0], "U\u0308BER": texts[0], "CAFÉ naive": texts[1],
			"привет мир": texts[2], "ПРИВ": texts[2], "αβγ": texts[3], "שלום": texts[4], "بالعالم مرحبا": texts[5], "日本": texts[6],
		} {
			found := []string{}
			if want != "" {
				found = append(found, "agent: "+want)
			}
			b.equal(search, b.search(search), fmt.Sprint(found))
		}
	}},
	{"nothing that people write is an operator of a search", func(b *fixture) {
		b.runTurn(ann, "1", "to be or not to be", `near 🎉 1.5% of a\b it's <x> “quoted”–too`)
		for _, search := range []string{
			"", " ", "🎉", `"*' (`, "\x00", "\xff", "\u200f\u202e", "*", "-", "!", "&|", ":*", "\ue000", "_", "\u0301",
			`be" OR "nothing`, "be NOT near", "text:be", "^be NEAR(to, 2)", "be & !near", "b:*z", "1.5 zzz", `"to" AND`,
		} {
			b.equal(fmt.Sprintf("%q", search), b.search(search), "[]")
		}
		for _, search := range []string{
			"to or not", "TO -be", "(be)*", "'be':*", "🎉be🎉", "to\u200fbe", "\u202ebe", "be|not", "^not (", "be\x00to", "be\xff", "to_be", "\ue000be",
		} {
			b.equal(fmt.Sprintf("%q", search), b.search(search), "[agent: to be or not to be]")
		}
		b.equal("signs between", b.search("1 5 a b it s x quoted too"), `[agent: near 🎉 1.5% of a\b it's <x> “quoted”–too]`)
	}},
	{"long texts and searches are cut", func(b *fixture) {
		long := strings.Repeat("x", 5000)
		b.runTurn(ann, "1", "first "+long+" "+strings.Repeat("word ", 20_000)+"last")
		b.equal("a word of 5,000 letters", len(b.search(long)), 1)
		b.equal("a word behind the limit", len(b.search("last")), 0)
		b.equal("many words", len(b.search("first"+strings.Repeat(" word", 1000))), 1)
		b.equal("a word that is ignored", len(b.search("first"+strings.Repeat(" word", store.MaxSearchWords)+" missing")), 1)
		b.equal("the last that is not", len(b.search("first"+strings.Repeat(" word", store.MaxSearchWords-2)+" missing")), 0)
	}},
	{"Search says who wrote a message, when, and which one it is on the network", func(b *fixture) {
		in := incoming(ann, "41")
		in.Text, in.Media, in.User = "the question", []string{"/tmp/a.png"}, channels.User{ID: "7", Name: "Ann"}
		inbound, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		asked := b.now()
		b.advance(time.Second)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Parts: outgoingTexts(ann, "the", "answer"), Entry: &store.Entry{Role: "agent", Text: "the answer", Media: []string{"b.png"}}})
		b.equal("before it is sent", b.found("answer").Message, "")
		for part := 1; part <= 2; part++ {
			delivery, _, err := b.NextDelivery(ctx, ann, 0)
			b.noError(err)
			_, err = b.Settle(ctx, delivery.ID, store.Settlement{State: store.Sent, Receipt: fmt.Sprint("sent ", part)})
			b.noError(err)
		}
		b.finishDone(inbound.ID)
		want := store.Found{
			Entry: store.Entry{Role: "user", Text: "the question", Media: []string{"/tmp/a.png"}, Time: asked, Inbound: inbound.ID},
			User:  in.User, Agent: store.DefaultAgent, Message: "41",
		}
		if got := b.found("question"); !reflect.DeepEqual(got, want) {
			b.Errorf("got %+v\nwant %+v", got, want)
		}
		answer := b.found("answer")
		b.equal("its time", answer.Time, asked.Add(time.Second))
		b.equal("its files", answer.Media, "[b.png]")
		b.equal("its role", answer.Role, "agent")
		b.equal("its first message", answer.Message, "sent 1")
	}},
	{"a message is found from the start of its turn on, and a command is not", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "command"), Settle: true})
		b.receiveClaimed(ann, "first")
		b.receiveQueued(ann, "waiting")
		b.equal("a command", b.search("command"), "[]")
		b.equal("the running turn", b.search("first"), "[user: first]")
		b.equal("a waiting message", b.search("waiting"), "[]")
		b.finishDone(b.inboundID(ann, "first"))
		b.claimOne()
		b.equal("its turn has begun", b.search("waiting"), "[user: waiting]")
		b.noError(b.Requeue(ctx, b.inboundID(ann, "waiting"), true))
		b.equal("its turn has not begun after all", b.search("waiting"), "[]")
		b.claimOne()
		b.equal("it has begun again", b.search("waiting"), "[user: waiting]")
	}},
	{"a text that is erased is not found, and in no file of the store", func(b *fixture) {
		for n := range 20 {
			b.runTurn(ann, fmt.Sprintf("before %d", n))
		}
		in := incoming(ann, "1")
		in.Text = secretText
		inbound, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		b.equal("the text", len(b.search("hunter2")), 1)
		_, err := b.EraseText(ctx, inbound.ID)
		b.noError(err)
		b.equal("the erased text", b.search("hunter2"), "[]")
		b.noSecretOnDisk()
		b.equal("the others", len(b.search("before")), 20)
	}},
	{"pruned messages are not found", func(b *fixture) {
		b.runTurn(ann, "old", "an old answer")
		b.advance(time.Hour)
		b.runTurn(ann, "new", "a new answer")
		b.noError(b.Prune(ctx, store.Retention{Age: time.Minute}))
		b.equal("an answer", b.search("answer"), "[agent: a new answer]")
		b.equal("a message", b.search("old"), "[]")
	}},
	{"a search of the conversation finds nothing from before a new one", func(b *fixture) {
		b.runTurn(ann, "1", "old word")
		b.startConversation(ann)
		b.runTurn(ann, "2", "new word")
		b.equal("the conversation", b.searchTexts(store.SearchFilter{Chat: ann, Text: "word", Conversation: true, Limit: 9}), "[agent: new word]")
		b.equal("everything", b.search("word"), "[agent: new word agent: old word]")
	}},
}

// search returns what a search finds in the chat of ann.
func (b *fixture) search(text string) []string {
	b.Helper()
	return b.searchTexts(store.SearchFilter{Chat: ann, Text: text, Limit: 99})
}

func (b *fixture) searchTexts(f store.SearchFilter) []string {
	b.Helper()
	all, err := b.Search(ctx, f)
	b.noError(err)
	found := []string{}
	for _, e := range all {
		found = append(found, e.Role+": "+e.Text)
	}
	return found
}

// found returns the only message that a search finds in the chat of ann.
func (b *fixture) found(text string) store.Found {
	b.Helper()
	all, err := b.Search(ctx, store.SearchFilter{Chat: ann, Text: text, Limit: 9})
	if err != nil || len(all) != 1 {
		b.Fatalf("found %+v, %v", all, err)
	}
	return all[0]
}
