package storetest

import (
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

const ttl = time.Hour

var accessTests = []test{
	{"a stranger is not allowed, nor is who only knocked", func(b *bench) {
		b.equal("allowed", b.allowed("net", "7"), false)
		b.requestPairing("net", "7")
		b.equal("allowed", b.allowed("net", "7"), false)
	}},
	{"who was accepted is allowed from then on, on that channel", func(b *bench) {
		code := b.requestPairing("net", "7")
		b.reopen()
		b.pass(time.Minute)
		g, ok, err := b.Accept(ctx, code, ttl)
		b.must(err)
		want := channels.User{ID: "7", Name: "Name 7", Username: "u7"}
		b.equal("accepted", []any{ok, g.Channel, g.User, g.Code, g.Since}, []any{true, "net", want, "", b.now()})
		b.pass(1000 * time.Hour)
		b.reopen()
		b.equal("allowed", b.allowed("net", "7"), true)
		b.equal("allowed elsewhere", b.allowed("other", "7"), false)
		b.equal("another user", b.allowed("net", "8"), false)
	}},
	{"a code is good once", func(b *bench) {
		code := b.requestPairing("net", "7")
		b.equal("accepted", b.accepted(code), true)
		b.equal("accepted again", b.accepted(code), false)
	}},
	{"a code may be typed in lower case and with space around it", func(b *bench) {
		b.equal("accepted", b.accepted(" "+strings.ToLower(b.requestPairing("net", "7"))+"\n"), true)
	}},
	{"a wrong or empty code lets nobody in", func(b *bench) {
		b.requestPairing("net", "7")
		b.equal("accepted", b.accepted("WRONG"), false)
		b.accepted(b.requestPairing("net", "8"))
		b.equal("accepted", b.accepted(""), false)
	}},
	{"a code that is too old lets nobody in", func(b *bench) {
		code := b.requestPairing("net", "7")
		b.pass(ttl)
		b.equal("accepted", b.accepted(code), false)
		b.equal("allowed", b.allowed("net", "7"), false)
	}},
	{"who requests again gets the same code while it is good, then a new one", func(b *bench) {
		code := b.requestPairing("net", "7")
		b.pass(ttl - time.Second)
		b.equal("the refusal", b.refuse(b.stranger("net", "7", "again")), store.PairingSilent)
		b.equal("the code", b.codeOf("net", "7"), code)
		b.pass(time.Second)
		if b.requestPairing("net", "7") == code {
			b.Fatal("the old code was given out again")
		}
		b.equal("the old code is accepted", b.accepted(code), false)
	}},
	{"who is in is not refused, and stays in", func(b *bench) {
		b.accepted(b.requestPairing("net", "7"))
		b.pass(2 * ttl)
		m := b.stranger("net", "7", "hello")
		m.Cursor = "12"
		b.equal("the refusal", b.refuse(m), store.AlreadyAdmitted)
		b.equal("allowed", b.allowed("net", "7"), true)
		cursor, err := b.Cursor(ctx, "net")
		b.must(err)
		b.equal("the cursor", cursor, "")
		_, result := b.receive(store.ReceiveRequest{In: m.In})
		b.equal("the result", result, store.Queued)
	}},
	{"pairings are those who wait and those who are in", func(b *bench) {
		b.accepted(b.requestPairing("net", "2"))
		code := b.requestPairing("net", "1")
		pairings, err := b.Pairings(ctx)
		b.must(err)
		b.equal("how many", len(pairings), 2)
		b.equal("their users", []string{pairings[0].User.ID, pairings[1].User.ID}, "[1 2]")
		b.equal("their codes", []string{pairings[0].Code, pairings[1].Code}, []string{code, ""})
	}},
	{"who is revoked is a stranger again", func(b *bench) {
		b.accepted(b.requestPairing("net", "7"))
		b.equal("revoked", b.revoke("net", "7"), true)
		b.reopen()
		b.equal("allowed", b.allowed("net", "7"), false)
		b.equal("revoked again", b.revoke("net", "7"), false)
	}},
	{"a user is let in by id, heard of or not", func(b *bench) {
		b.requestPairing("net", "7")
		for _, user := range []string{"7", "8"} {
			g, ok := b.admit("net", user)
			b.equal("let in", []any{ok, g.User.ID, g.Code, g.Since}, []any{true, user, "", b.now()})
			b.equal("allowed", b.allowed("net", user), true)
			b.equal("allowed elsewhere", b.allowed("other", user), false)
			_, ok = b.admit("net", user)
			b.equal("let in again", ok, false)
		}
	}},
	{"who was let in by code or id is told once and has the newest message received once", func(b *bench) {
		let := map[string]func(code string){
			"6": func(code string) { b.equal("accepted", b.accepted(code), true) },
			"7": func(string) { b.admit("net", "7") },
		}
		for _, user := range []string{"6", "7"} {
			code := b.requestPairing("net", user)
			newest := b.stranger("net", user, "newest")
			b.equal("the refusal", b.refuse(newest), store.PairingSilent)
			press := b.stranger("net", user, "pressed")
			press.In.Text, press.In.Press = "", "/stop"
			b.equal("the refusal", b.refuse(press), store.PairingSilent)
			b.sendAll(newest.In.Chat)
			let[user](code)
			b.reopen()
			g := b.unwelcomed()
			b.equal("who is to be welcomed", []any{len(g), g[0].User.ID, g[0].Told, g[0].Message.Text, g[0].Message.Chat}, []any{1, user, false, "newest", newest.In.Chat})
			who := store.Person{Channel: "net", User: user}
			for _, want := range []bool{true, false} {
				told, err := b.Greet(ctx, who, parts(newest.In.Chat, "Welcome."))
				b.must(err)
				b.equal("told", told, want)
				b.reopen()
			}
			b.equal("what is sent", b.sendAll(newest.In.Chat), "[Welcome.]")
			g = b.unwelcomed()
			b.equal("who is to be answered", []any{len(g), g[0].Told}, []any{1, true})
			_, result := b.receive(store.ReceiveRequest{In: *g[0].Message})
			b.equal("the result", result, store.Queued)
			_, result = b.receive(store.ReceiveRequest{In: *g[0].Message})
			b.equal("the result on the same", result, store.Duplicate)
			b.must(b.ForgetMessage(ctx, who))
			b.equal("who is to be welcomed at the end", len(b.unwelcomed()), 0)
			_, result = b.receive(store.ReceiveRequest{In: press.In})
			b.equal("the result on an older one", result, store.Duplicate)
		}
	}},
	{"who was let in and has not written is not to be welcomed", func(b *bench) {
		b.admit("net", "7")
		b.requestPairing("net", "8")
		b.pass(ttl)
		b.admit("net", "8") // the code has ended, and the text with it
		b.equal("who is to be welcomed", len(b.unwelcomed()), 0)
		told, err := b.Greet(ctx, store.Person{Channel: "net", User: "7"}, parts(ann, "Welcome."))
		b.must(err)
		b.equal("told", told, false)
		b.nothingToSend(ann)
	}},
	{"who only waits is not welcomed", func(b *bench) {
		b.requestPairing("net", "7")
		told, err := b.Greet(ctx, store.Person{Channel: "net", User: "7"}, parts(ann, "Welcome."))
		b.must(err)
		b.equal("who is to be welcomed and told", []any{len(b.unwelcomed()), told}, []any{0, false})
	}},
}

// limits are wide enough for tests about something else.
var limits = store.CodeLimits{Life: ttl, Open: 9, PerHour: 99}

// stranger is a message in the user's own chat, with answers that say which they are.
func (b *bench) stranger(channel, user, id string) store.PairingRequest {
	chat := channels.Chat{Channel: channel, ID: "of " + user}
	b.codes++
	return store.PairingRequest{
		In:   channels.Incoming{Chat: chat, ID: id, Text: id, User: channels.User{ID: user, Name: "Name " + user, Username: "u" + user}},
		Code: fmt.Sprintf("CODE%04d", b.codes), Limits: limits, Coded: parts(chat, "code"), Later: parts(chat, "later"),
	}
}

func (b *bench) refuse(m store.PairingRequest) store.PairingResult {
	b.Helper()
	result, err := b.RequestPairing(ctx, m)
	b.must(err)
	return result
}

// codeOf is the open code of a user, or "".
func (b *bench) codeOf(channel, user string) string {
	b.Helper()
	pairings, err := b.Pairings(ctx)
	b.must(err)
	for _, g := range pairings {
		if g.Channel == channel && g.User.ID == user {
			return g.Code
		}
	}
	return ""
}

// requestPairing has a user given a code by a first message.
func (b *bench) requestPairing(channel, user string) string {
	b.Helper()
	b.equal("the refusal", b.refuse(b.stranger(channel, user, fmt.Sprint("requestPairing ", b.now(), b.codes))), store.PairingCoded)
	return b.codeOf(channel, user)
}

func (b *bench) admit(channel, user string) (store.Pairing, bool) {
	b.Helper()
	g, ok, err := b.Admit(ctx, store.Person{Channel: channel, User: user}, ttl)
	b.must(err)
	return g, ok
}

func (b *bench) unwelcomed() []store.Pairing {
	b.Helper()
	pairings, err := b.PairingsToGreet(ctx, store.Person{})
	b.must(err)
	return pairings
}

func (b *bench) revoke(channel, user string) bool {
	b.Helper()
	ok, err := b.Revoke(ctx, store.Person{Channel: channel, User: user}, true)
	b.must(err)
	return ok
}

func (b *bench) accepted(code string) bool {
	b.Helper()
	_, ok, err := b.Accept(ctx, code, ttl)
	b.must(err)
	return ok
}

func (b *bench) allowed(channel, user string) bool {
	b.Helper()
	ok, err := b.Allowed(ctx, channel, user)
	b.must(err)
	return ok
}
