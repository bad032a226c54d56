package channelstest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"nanobot/channels"
)

const (
	statesLimit = "FileLimiter: FileLimit returns a size and a phrase"
	plansLimit  = "FileLimiter: Plan accepts a file of that size"
	sendsAgain  = "ConnectionKeeper: Send works after CloseIdleConnections"
	showsTyping = "Typer: Typing is shown and sends nothing"
	endsTyping  = "Typer: Typing shows nothing once its context has ended"
	idempotent  = "Repeater: Send is idempotent per Key"
	hasParents  = "ChatLocator: the chat of a topic is no topic"
	linksWell   = "Linker: what has an address has one of the web"
	checksChats = "ChatChecker: CheckChat accepts only IDs that a chat can have"
)

var optionalSendBreaches = []breach{
	{
		name:  "FileLimit has no phrase",
		fails: []string{statesLimit},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.fileLimit = func(channels.Chat, string) (int64, string) { return 100, "" }
		}),
	},
	{
		name:  "FileLimit returns another limit each time",
		fails: []string{statesLimit},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			var asked atomic.Int64
			o.fileLimit = func(channels.Chat, string) (int64, string) {
				n := asked.Add(1)
				return n, fmt.Sprintf("%d bytes", n)
			}
		}),
	},
	{
		name:  "FileLimit has one language",
		fails: []string{"WordsUser: words follow the language of the message"},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.fileLimit = func(channels.Chat, string) (int64, string) { return 1 << 20, "files up to 1 MB" }
		}),
	},
	{
		name:  "Plan refuses a file of the limit",
		fails: []string{plansLimit},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.plan = func(m channels.Message) ([]channels.Outgoing, error) {
				most, words := f.FileLimit(m.Chat, "")
				if len(m.Media) > 0 && m.Media[0].Size >= most {
					m.Text, m.Media = words, nil
				}
				return f.Plan(m)
			}
		}),
	},
	{
		name:  "CloseIdleConnections closes the client for good",
		fails: []string{sendsAgain},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			closed := false
			o.closeIdle = func() { closed = true }
			o.send = func(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
				if closed {
					return channels.Receipt{}, errors.New("the client is closed")
				}
				return f.Send(ctx, m)
			}
		}),
	},
	{
		name:  "Typing sends a message",
		fails: []string{showsTyping},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.typing = func(ctx context.Context, chat channels.Chat) error {
				_, _ = f.Send(ctx, channels.Outgoing{Chat: chat, Text: "…"})
				return f.Typing(ctx, chat)
			}
		}),
	},
	{
		name:  "Typing shows nothing",
		fails: []string{showsTyping},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.typing = func(context.Context, channels.Chat) error { return nil }
		}),
	},
	{
		name:  "Typing ignores its context",
		fails: []string{endsTyping},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.typing = func(ctx context.Context, chat channels.Chat) error {
				return f.Typing(context.WithoutCancel(ctx), chat)
			}
		}),
	},
	{
		name:  "LocateChat returns a topic of a topic",
		fails: []string{hasParents},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.locateChat = func(id string) (parent, topic string, group bool) { return id + "_1", "1", true }
		}),
	},
	{
		name:  "LinkMessage returns an address for everything",
		fails: []string{linksWell},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.linkMessage = func(_ channels.Chat, _ bool, id string) string { return "https://fake.example/" + id }
		}),
	},
	{
		name:  "LinkMessage returns no address of the web",
		fails: []string{linksWell},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.linkMessage = func(chat channels.Chat, group bool, id string) string {
				return strings.TrimPrefix(f.LinkMessage(chat, group, id), "https://")
			}
		}),
	},
	{
		name:  "CheckChat accepts everything",
		fails: []string{checksChats},
		build: withFault(func(_ fakeChannel, o *faultyChannel) { o.checkChat = func(string) error { return nil } }),
	},
	{
		name:  "CheckChat refuses a chat",
		fails: []string{checksChats},
		build: withFault(func(_ fakeChannel, o *faultyChannel) { o.checkChat = func(string) error { return errMissing } }),
	},
	{
		name:  "Send ignores the Key",
		fails: []string{idempotent},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.send = func(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
				m.Key = ""
				return f.Send(ctx, m)
			}
		}),
	},
	{
		name:  "a repeated Send has another receipt",
		fails: []string{idempotent},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.send = func(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
				receipt, err := f.Send(ctx, m)
				if m.Key != "" {
					receipt.ID = rand.Text()
				}
				return receipt, err
			}
		}),
	},
	{
		name:  "Send treats all keys as the same",
		fails: []string{idempotent},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.send = func(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
				if m.Key != "" {
					m.Key = "key"
				}
				return f.Send(ctx, m)
			}
		}),
	},
}
