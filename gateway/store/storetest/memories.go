package storetest

import (
	"nanobot/channels"
	"nanobot/gateway/store"
)

var memoryTests = []test{
	{"nothing is remembered of a chat at first", func(b *bench) {
		b.equal("the memory", b.recall(ann, "agent"), "")
	}},
	{"what is remembered last is there after a restart", func(b *bench) {
		b.remember(ann, "agent", "first")
		b.remember(ann, "agent", "second")
		b.reopen()
		b.equal("the memory", b.recall(ann, "agent"), "second")
	}},
	{"keys and chats are remembered apart, and nothing is forgotten by nothing", func(b *bench) {
		b.remember(ann, "agent", "a")
		b.remember(ann, "about", "b")
		b.remember(bob, "agent", "c")
		b.remember(channels.Chat{}, "agent", "d")
		b.remember(ann, "agent", "")
		b.remember(ann, "agent", "")
		b.reopen()
		b.equal("the memories", []string{
			b.recall(ann, "agent"), b.recall(ann, "about"), b.recall(bob, "agent"), b.recall(channels.Chat{}, "agent"),
		}, "[ b c d]")
	}},
	{"a chat that is started afresh is remembered no more but for what lasts, and others are", func(b *bench) {
		b.remember(ann, "agent", "a")
		b.remember(ann, "about", "b")
		b.remember(ann, store.LastingPrefix+"agent", "l")
		b.remember(bob, "agent", "c")
		b.must(b.StartConversation(ctx, ann))
		b.reopen()
		b.equal("the memories", []string{b.recall(ann, "agent"), b.recall(ann, "about"), b.recall(ann, store.LastingPrefix+"agent"), b.recall(bob, "agent")}, "[  l c]")
	}},
	{"a message that starts a chat afresh forgets in the same step, once", func(b *bench) {
		b.remember(ann, "agent", "a")
		afresh := store.ReceiveRequest{In: incoming(ann, "1"), Settle: true, StartConversation: true}
		b.receive(afresh)
		b.equal("the memory", b.recall(ann, "agent"), "")
		b.remember(ann, "agent", "later")
		b.reopen()
		b.receive(afresh)
		b.equal("the memory after the same message", b.recall(ann, "agent"), "later")
	}},
}

func (b *bench) remember(chat channels.Chat, key, value string) {
	b.Helper()
	b.must(b.Remember(ctx, chat, key, value))
}

func (b *bench) recall(chat channels.Chat, key string) string {
	b.Helper()
	value, err := b.Recall(ctx, chat, key)
	b.must(err)
	return value
}
