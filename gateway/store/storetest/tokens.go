package storetest

import (
	"nanobot/channels"
	"nanobot/gateway/store"
)

// chatOfToken returns the key of a token's chat, or "none".
func (b *fixture) chatOfToken(token string) string {
	b.Helper()
	chat, found, err := b.ChatOfToken(ctx, token)
	b.noError(err)
	if !found {
		return "none"
	}
	return chat.String()
}

var tokenTests = []contractTest{
	{"a claimed message has the token of its chat, always the same, also after a restart", func(b *fixture) {
		one, other := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		if len(one.Token) < 26 || one.Token == other.Token {
			b.Fatalf("the tokens are %q and %q", one.Token, other.Token)
		}
		b.equal("the chats", []string{b.chatOfToken(one.Token), b.chatOfToken(other.Token)}, "[net:ann net:bob]")
		b.finishDone(one.ID)
		b.receiveQueued(ann, "3")
		b.reopen()
		b.equal("the chat after a restart", b.chatOfToken(one.Token), "net:ann")
		b.equal("the token of the next turn", b.claimOne().Token, one.Token)
	}},
	{"a message that is not claimed has no token", func(b *fixture) {
		b.equal("one that waits", b.receiveQueued(ann, "1")[0].Token, "")
		settled, _ := b.receive(store.ReceiveRequest{In: incoming(bob, "2"), Settle: true})
		b.equal("one that is settled", settled.Token, "")
		b.equal("no token", b.chatOfToken(""), "none")
		b.equal("a guess", b.chatOfToken("AAAAAAAAAAAAAAAAAAAAAAAAAA"), "none")
	}},
	{"a dismissed person loses the tokens of chats in which nobody else has written", func(b *fixture) {
		group := channels.Chat{Channel: "net", ID: "group"}
		shared := b.receiveClaimed(group, "1")
		b.finishDone(shared.ID)
		in := incoming(group, "2")
		in.User.ID = "8"
		b.receive(store.ReceiveRequest{In: in})
		in.Chat, in.ID = ann, "3"
		own, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		b.equal("before", []string{b.chatOfToken(own.Token), b.chatOfToken(shared.Token)}, "[net:ann net:group]")
		b.dismiss("8")
		b.reopen()
		b.equal("afterwards", []string{b.chatOfToken(own.Token), b.chatOfToken(shared.Token)}, "[none net:group]")
	}},
	{"what is no text is no token and no record", func(b *fixture) {
		for _, text := range []string{"\xff", "a\x00b"} {
			_, known, err := b.ChatOfToken(ctx, text)
			b.noError(err)
			value, err := b.LoadRecord(ctx, text)
			b.noError(err)
			b.equal("known, value", []any{known, value}, "[false ]")
		}
	}},
}
