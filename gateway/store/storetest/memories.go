package storetest

import (
	"nanobot/channels"
	"nanobot/gateway/store"
)

var memoryTests = []contractTest{
	{"a chat has no memories at first", func(b *fixture) {
		b.equal("the memory", b.recall(ann, "agent"), "")
	}},
	{"the last value of a memory is there after a restart", func(b *fixture) {
		b.remember(ann, "agent", "first")
		b.remember(ann, "agent", "second")
		b.reopen()
		b.equal("the memory", b.recall(ann, "agent"), "second")
	}},
	{"memories of different keys and chats are separate, and an empty value removes only its own key", func(b *fixture) {
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
	{"a new conversation removes the chat's memories, except lasting ones and those of other chats", func(b *fixture) {
		b.remember(ann, "agent", "a")
		b.remember(ann, "about", "b")
		b.remember(ann, store.LastingPrefix+"agent", "l")
		b.remember(bob, "agent", "c")
		b.startConversation(ann)
		b.reopen()
		b.equal("the memories", []string{b.recall(ann, "agent"), b.recall(ann, "about"), b.recall(ann, store.LastingPrefix+"agent"), b.recall(bob, "agent")}, "[  l c]")
	}},
	{"a message that starts a new conversation removes memories in the same transaction, once", func(b *fixture) {
		b.remember(ann, "agent", "a")
		request := store.ReceiveRequest{In: incoming(ann, "1"), Settle: true, StartConversation: true}
		b.receive(request)
		b.equal("the memory", b.recall(ann, "agent"), "")
		name := b.recall(ann, store.ConversationMemory)
		b.remember(ann, "agent", "later")
		b.reopen()
		b.receive(request)
		b.equal("the memory after the same message", b.recall(ann, "agent"), "later")
		b.equal("the conversation after the same message", b.recall(ann, store.ConversationMemory), name)
	}},
	{"every new conversation has a name that the chat has not had, also after a restart", func(b *fixture) {
		names := map[string]bool{b.recall(ann, store.ConversationMemory): true}
		for range 3 {
			b.startConversation(ann)
			b.reopen()
			names[b.recall(ann, store.ConversationMemory)] = true
		}
		b.equal("the number of names", len(names), "4")
		b.equal("the name in the other chat", b.recall(bob, store.ConversationMemory), "")
	}},
}

func (b *fixture) remember(chat channels.Chat, key, value string) {
	b.Helper()
	b.noError(b.Remember(ctx, chat, key, value))
}

func (b *fixture) recall(chat channels.Chat, key string) string {
	b.Helper()
	value, err := b.Recall(ctx, chat, key)
	b.noError(err)
	return value
}
