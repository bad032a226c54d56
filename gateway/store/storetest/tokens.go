package storetest

import (
	"nanobot/channels"
	"nanobot/gateway/store"
)

// chatOf returns the key of the chat that a token is of, or "none".
func (b *bench) chatOf(token string) string {
	b.Helper()
	chat, found, err := b.ChatOfToken(ctx, token)
	b.must(err)
	if !found {
		return "none"
	}
	return chat.String()
}

var tokenTests = []test{
	{"what is claimed has the token of its chat, the same each time and after a restart", func(b *bench) {
		one, other := b.running(ann, "1"), b.running(bob, "2")
		if len(one.Token) < 26 || one.Token == other.Token {
			b.Fatalf("the tokens are %q and %q", one.Token, other.Token)
		}
		b.equal("the chats", []string{b.chatOf(one.Token), b.chatOf(other.Token)}, "[net:ann net:bob]")
		b.done(one.ID)
		b.queue(ann, "3")
		b.reopen()
		b.equal("the chat after a restart", b.chatOf(one.Token), "net:ann")
		b.equal("the token of the next turn", b.claim().Token, one.Token)
	}},
	{"what is not claimed has no token", func(b *bench) {
		b.equal("one that waits", b.queue(ann, "1")[0].Token, "")
		settled, _ := b.receive(store.ReceiveRequest{In: incoming(bob, "2"), Settle: true})
		b.equal("one that is settled", settled.Token, "")
		b.equal("no token", b.chatOf(""), "none")
		b.equal("a guess", b.chatOf("AAAAAAAAAAAAAAAAAAAAAAAAAA"), "none")
	}},
	{"who is dismissed loses the token of a chat of their own, and others keep theirs", func(b *bench) {
		group := channels.Chat{Channel: "net", ID: "group"}
		shared := b.running(group, "1")
		b.done(shared.ID)
		in := incoming(group, "2")
		in.User.ID = "8"
		b.receive(store.ReceiveRequest{In: in})
		in.Chat, in.ID = ann, "3"
		own, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		b.equal("before", []string{b.chatOf(own.Token), b.chatOf(shared.Token)}, "[net:ann net:group]")
		b.dismiss("8")
		b.reopen()
		b.equal("afterwards", []string{b.chatOf(own.Token), b.chatOf(shared.Token)}, "[none net:group]")
	}},
}
