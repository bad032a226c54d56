package storetest

import (
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

const ttl = time.Hour

var accessTests = []contractTest{
	{"neither an outsider nor a person with a code is allowed", func(b *fixture) {
		b.equal("allowed", b.allowed("net", "7"), false)
		b.issueCode("net", "7")
		b.equal("allowed", b.allowed("net", "7"), false)
	}},
	{"an accepted person is allowed from then on, on that channel only", func(b *fixture) {
		code := b.issueCode("net", "7")
		b.reopen()
		b.advance(time.Minute)
		g, ok, err := b.Accept(ctx, code, ttl)
		b.noError(err)
		want := channels.User{ID: "7", Name: "Name 7", Username: "u7"}
		b.equal("accepted", []any{ok, g.Channel, g.User, g.Code, g.Since}, []any{true, "net", want, "", b.now()})
		b.advance(1000 * time.Hour)
		b.reopen()
		b.equal("allowed", b.allowed("net", "7"), true)
		b.equal("allowed elsewhere", b.allowed("other", "7"), false)
		b.equal("another user", b.allowed("net", "8"), false)
	}},
	{"a code is accepted once", func(b *fixture) {
		code := b.issueCode("net", "7")
		b.equal("accepted", b.acceptCode(code), true)
		b.equal("accepted again", b.acceptCode(code), false)
	}},
	{"a code may be typed in lower case and with space around it", func(b *fixture) {
		b.equal("accepted", b.acceptCode(" "+strings.ToLower(b.issueCode("net", "7"))+"\n"), true)
	}},
	{"a wrong or empty code admits nobody", func(b *fixture) {
		b.issueCode("net", "7")
		b.equal("accepted", b.acceptCode("WRONG"), false)
		b.acceptCode(b.issueCode("net", "8"))
		b.equal("accepted", b.acceptCode(""), false)
	}},
	{"an expired code admits nobody", func(b *fixture) {
		code := b.issueCode("net", "7")
		b.advance(ttl)
		b.equal("accepted", b.acceptCode(code), false)
		b.equal("allowed", b.allowed("net", "7"), false)
	}},
	{"a person keeps their code while it is valid, then gets a new one", func(b *fixture) {
		code := b.issueCode("net", "7")
		b.advance(ttl - time.Second)
		b.equal("the pairing result", b.handleOutsider(b.outsiderMessage("net", "7", "again")), store.PairingSilent)
		b.equal("the code", b.codeOf("net", "7"), code)
		b.advance(time.Second)
		if b.issueCode("net", "7") == code {
			b.Fatal("the old code was given out again")
		}
		b.equal("the old code is accepted", b.acceptCode(code), false)
	}},
	{"an admitted person is not refused and stays admitted", func(b *fixture) {
		b.acceptCode(b.issueCode("net", "7"))
		b.advance(2 * ttl)
		m := b.outsiderMessage("net", "7", "hello")
		m.Cursor = "12"
		b.equal("the pairing result", b.handleOutsider(m), store.AlreadyAdmitted)
		b.equal("allowed", b.allowed("net", "7"), true)
		cursor, err := b.Cursor(ctx, "net")
		b.noError(err)
		b.equal("the cursor", cursor, "")
		_, result := b.receive(store.ReceiveRequest{In: m.In})
		b.equal("the result", result, store.Queued)
	}},
	{"pairings are the waiting and the admitted people", func(b *fixture) {
		b.acceptCode(b.issueCode("net", "2"))
		code := b.issueCode("net", "1")
		pairings, err := b.Pairings(ctx)
		b.noError(err)
		b.equal("how many", len(pairings), 2)
		b.equal("their users", []string{pairings[0].User.ID, pairings[1].User.ID}, "[1 2]")
		b.equal("their codes", []string{pairings[0].Code, pairings[1].Code}, []string{code, ""})
	}},
	{"a revoked person is an outsider again", func(b *fixture) {
		b.acceptCode(b.issueCode("net", "7"))
		b.equal("revoked", b.revoke("net", "7"), true)
		b.reopen()
		b.equal("allowed", b.allowed("net", "7"), false)
		b.equal("revoked again", b.revoke("net", "7"), false)
	}},
	{"a user is admitted by ID, known or not", func(b *fixture) {
		b.issueCode("net", "7")
		for _, user := range []string{"7", "8"} {
			g, ok := b.admit("net", user)
			b.equal("admitted", []any{ok, g.User.ID, g.Code, g.Since}, []any{true, user, "", b.now()})
			b.equal("allowed", b.allowed("net", user), true)
			b.equal("allowed elsewhere", b.allowed("other", user), false)
			_, ok = b.admit("net", user)
			b.equal("admitted again", ok, false)
		}
	}},
	{"a person admitted by code or ID is greeted once, and their newest message is received once", func(b *fixture) {
		admit := map[string]func(code string){
			"6": func(code string) { b.equal("accepted", b.acceptCode(code), true) },
			"7": func(string) { b.admit("net", "7") },
		}
		for _, user := range []string{"6", "7"} {
			code := b.issueCode("net", user)
			newest := b.outsiderMessage("net", user, "newest")
			b.equal("the pairing result", b.handleOutsider(newest), store.PairingSilent)
			press := b.outsiderMessage("net", user, "pressed")
			press.In.Text, press.In.Press = "", "/stop"
			b.equal("the pairing result", b.handleOutsider(press), store.PairingSilent)
			b.sendAll(newest.In.Chat)
			admit[user](code)
			b.reopen()
			g := b.pairingsToGreet()
			b.equal("who is to be greeted", []any{len(g), g[0].User.ID, g[0].Greeted, g[0].Message.Text, g[0].Message.Chat}, []any{1, user, false, "newest", newest.In.Chat})
			who := store.Person{Channel: "net", User: user}
			for _, want := range []bool{true, false} {
				told, err := b.Greet(ctx, who, outgoingTexts(newest.In.Chat, "Welcome."))
				b.noError(err)
				b.equal("told", told, want)
				b.reopen()
			}
			b.equal("what is sent", b.sendAll(newest.In.Chat), "[Welcome.]")
			g = b.pairingsToGreet()
			b.equal("whose message is to be handled", []any{len(g), g[0].Greeted}, []any{1, true})
			_, result := b.receive(store.ReceiveRequest{In: *g[0].Message})
			b.equal("the result", result, store.Queued)
			_, result = b.receive(store.ReceiveRequest{In: *g[0].Message})
			b.equal("the result on the same", result, store.Duplicate)
			b.noError(b.ForgetMessage(ctx, who))
			b.equal("who is to be greeted at the end", len(b.pairingsToGreet()), 0)
			_, result = b.receive(store.ReceiveRequest{In: press.In})
			b.equal("the result on an older one", result, store.Duplicate)
		}
	}},
	{"an admitted person who has not written is not greeted", func(b *fixture) {
		b.admit("net", "7")
		b.issueCode("net", "8")
		b.advance(ttl)
		b.admit("net", "8") // the code has expired, and the text with it
		b.equal("who is to be greeted", len(b.pairingsToGreet()), 0)
		told, err := b.Greet(ctx, store.Person{Channel: "net", User: "7"}, outgoingTexts(ann, "Welcome."))
		b.noError(err)
		b.equal("told", told, false)
		b.nothingToSend(ann)
	}},
	{"a person who waits for pairing is not greeted", func(b *fixture) {
		b.issueCode("net", "7")
		told, err := b.Greet(ctx, store.Person{Channel: "net", User: "7"}, outgoingTexts(ann, "Welcome."))
		b.noError(err)
		b.equal("who is to be greeted, and was told", []any{len(b.pairingsToGreet()), told}, []any{0, false})
	}},
}

// limits are wide enough for tests that are not about limits.
var limits = store.CodeLimits{Life: ttl, Open: 9, PerHour: 99}

// outsiderMessage is a message in the user's own chat, with answers whose texts name them.
func (b *fixture) outsiderMessage(channel, user, id string) store.PairingRequest {
	chat := channels.Chat{Channel: channel, ID: "of " + user}
	b.codes++
	return store.PairingRequest{
		In:   channels.Incoming{Chat: chat, ID: id, Text: id, User: channels.User{ID: user, Name: "Name " + user, Username: "u" + user}},
		Code: fmt.Sprintf("CODE%04d", b.codes), Limits: limits, Coded: outgoingTexts(chat, "code"), Later: outgoingTexts(chat, "later"),
	}
}

func (b *fixture) handleOutsider(m store.PairingRequest) store.PairingResult {
	b.Helper()
	result, err := b.RequestPairing(ctx, m)
	b.noError(err)
	return result
}

// codeOf returns the valid code of a user, or "".
func (b *fixture) codeOf(channel, user string) string {
	b.Helper()
	pairings, err := b.Pairings(ctx)
	b.noError(err)
	for _, g := range pairings {
		if g.Channel == channel && g.User.ID == user {
			return g.Code
		}
	}
	return ""
}

// issueCode receives a first message of a user, who gets a code for it.
func (b *fixture) issueCode(channel, user string) string {
	b.Helper()
	b.equal("the pairing result", b.handleOutsider(b.outsiderMessage(channel, user, fmt.Sprint("first message ", b.now(), b.codes))), store.PairingCoded)
	return b.codeOf(channel, user)
}

func (b *fixture) admit(channel, user string) (store.Pairing, bool) {
	b.Helper()
	g, ok, err := b.Admit(ctx, store.Person{Channel: channel, User: user}, ttl)
	b.noError(err)
	return g, ok
}

func (b *fixture) pairingsToGreet() []store.Pairing {
	b.Helper()
	pairings, err := b.PairingsToGreet(ctx, store.Person{})
	b.noError(err)
	return pairings
}

func (b *fixture) revoke(channel, user string) bool {
	b.Helper()
	ok, err := b.Revoke(ctx, store.Person{Channel: channel, User: user}, true)
	b.noError(err)
	return ok
}

func (b *fixture) acceptCode(code string) bool {
	b.Helper()
	_, ok, err := b.Accept(ctx, code, ttl)
	b.noError(err)
	return ok
}

func (b *fixture) allowed(channel, user string) bool {
	b.Helper()
	ok, err := b.Allowed(ctx, channel, user)
	b.noError(err)
	return ok
}
