package storetest

import (
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

const ttl = time.Hour

var accessTests = []test{
	{"a stranger is not allowed, nor is who only knocked", func(b *bench) {
		b.equal("allowed", b.allowed("net", "7"), false)
		b.knock("net", "7")
		b.equal("allowed", b.allowed("net", "7"), false)
	}},
	{"who was accepted is allowed from then on, on that channel", func(b *bench) {
		code := b.knock("net", "7")
		b.reopen()
		b.pass(time.Minute)
		g, ok, err := b.Accept(ctx, code, ttl)
		b.must(err)
		want := store.Guest{Channel: "net", User: channels.User{ID: "7", Name: "Name 7", Username: "u7"}, Since: b.now()}
		b.equal("accepted", []any{ok, g}, []any{true, want})
		b.pass(1000 * time.Hour)
		b.reopen()
		b.equal("allowed", b.allowed("net", "7"), true)
		b.equal("allowed elsewhere", b.allowed("other", "7"), false)
		b.equal("another user", b.allowed("net", "8"), false)
	}},
	{"a code is good once", func(b *bench) {
		code := b.knock("net", "7")
		b.equal("accepted", b.accepted(code), true)
		b.equal("accepted again", b.accepted(code), false)
	}},
	{"a code may be typed in lower case and with space around it", func(b *bench) {
		b.equal("accepted", b.accepted(" "+strings.ToLower(b.knock("net", "7"))+"\n"), true)
	}},
	{"a wrong or empty code lets nobody in", func(b *bench) {
		b.knock("net", "7")
		b.equal("accepted", b.accepted("WRONG"), false)
		b.accepted(b.knock("net", "8"))
		b.equal("accepted", b.accepted(""), false)
	}},
	{"a code that is too old lets nobody in", func(b *bench) {
		code := b.knock("net", "7")
		b.pass(ttl)
		b.equal("accepted", b.accepted(code), false)
		b.equal("allowed", b.allowed("net", "7"), false)
	}},
	{"who knocks again gets the same code while it is good, then a new one", func(b *bench) {
		code := b.knock("net", "7")
		b.pass(ttl - time.Second)
		again, fresh, err := b.Knock(ctx, guest("net", "7"), ttl, 9)
		b.must(err)
		b.equal("the code and whether it is fresh", []any{again, fresh}, []any{code, false})
		b.pass(time.Second)
		if b.knock("net", "7") == code {
			b.Fatal("the old code was given out again")
		}
		b.equal("the old code is accepted", b.accepted(code), false)
	}},
	{"codes differ and are hard to guess", func(b *bench) {
		codes := map[string]bool{}
		for _, user := range strings.Split("abcdefgh", "") {
			code := b.knock("net", user)
			if len(code) < 8 || codes[code] {
				b.Fatalf("code %q among %v", code, codes)
			}
			codes[code] = true
		}
	}},
	{"a guest's own code is used", func(b *bench) {
		g := guest("net", "7")
		g.Code = "MINE1234"
		code, fresh, err := b.Knock(ctx, g, ttl, 9)
		b.must(err)
		b.equal("the code and whether it is fresh", []any{code, fresh}, "[MINE1234 true]")
	}},
	{"when too many wait on a channel there is no code, until one is accepted or expires", func(b *bench) {
		first := b.knock("net", "1")
		b.pass(time.Minute)
		b.knock("net", "2")
		full := func() bool {
			code, fresh, err := b.Knock(ctx, guest("net", "3"), ttl, 2)
			b.must(err)
			b.equal("fresh", fresh, code != "")
			return code == ""
		}
		b.equal("full", full(), true)
		again, _, err := b.Knock(ctx, guest("net", "1"), ttl, 2)
		b.must(err)
		b.equal("the code of one who waits", again, first)
		code, _, err := b.Knock(ctx, guest("other", "3"), ttl, 2)
		b.must(err)
		b.equal("another channel is full", code == "", false)
		b.accepted(first)
		b.equal("full after one was accepted", full(), false)
		_, _, err = b.Knock(ctx, guest("net", "4"), ttl, 2)
		b.must(err)
		b.pass(ttl)
		code, _, err = b.Knock(ctx, guest("net", "5"), ttl, 2)
		b.must(err)
		b.equal("full after one expired", code == "", false)
	}},
	{"who is in gets no code and stays in", func(b *bench) {
		b.accepted(b.knock("net", "7"))
		b.pass(2 * ttl)
		code, fresh, err := b.Knock(ctx, guest("net", "7"), ttl, 9)
		b.must(err)
		b.equal("the code and whether it is fresh", []any{code, fresh}, []any{"", false})
		b.equal("allowed", b.allowed("net", "7"), true)
	}},
	{"guests are those who wait and those who are in", func(b *bench) {
		b.accepted(b.knock("net", "2"))
		code := b.knock("net", "1")
		guests, err := b.Guests(ctx)
		b.must(err)
		b.equal("how many", len(guests), 2)
		b.equal("their users", []string{guests[0].User.ID, guests[1].User.ID}, "[1 2]")
		b.equal("their codes", []string{guests[0].Code, guests[1].Code}, []string{code, ""})
	}},
	{"who is revoked is a stranger again", func(b *bench) {
		b.accepted(b.knock("net", "7"))
		ok, err := b.Revoke(ctx, "net", "7")
		b.must(err)
		b.equal("revoked", ok, true)
		b.reopen()
		b.equal("allowed", b.allowed("net", "7"), false)
		ok, err = b.Revoke(ctx, "net", "7")
		b.must(err)
		b.equal("revoked again", ok, false)
	}},
}

func guest(channel, user string) store.Guest {
	return store.Guest{Channel: channel, User: channels.User{ID: user, Name: "Name " + user, Username: "u" + user}}
}

func (b *bench) knock(channel, user string) string {
	b.Helper()
	code, fresh, err := b.Knock(ctx, guest(channel, user), ttl, 9)
	b.must(err)
	if code == "" || !fresh {
		b.Fatalf("code %q, fresh %t", code, fresh)
	}
	return code
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
