package telegram_test

import (
	"context"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// BenchmarkReceive measures the time from a message at the server until the gateway has it: a
// command, a text in a busy chat, and a text in an idle chat, which waits for what belongs to it.
func BenchmarkReceive(b *testing.B) {
	for _, c := range []struct {
		name, text string
		busy       bool
	}{{"command", "/status", false}, {"text in a busy chat", "hello", true}, {"text in an idle chat", "hello", false}} {
		b.Run(c.name, func(b *testing.B) {
			server := telegramtest.New(b)
			ch := musttest.Get(telegram.New(telegram.Options{
				Token: server.Token, APIBase: server.URL, Unpaced: true, Folder: channelstest.ChatFolders(b.TempDir()),
			}))(b)
			memory := channelstest.NewMemory()
			ch.SetMemory(memory)
			if c.busy {
				memory.SetBusy()
			}
			received := make(chan struct{}, 1)
			stop := channelstest.Start(b, ch, memory.WrapReceive(func(context.Context, channels.Incoming) error {
				received <- struct{}{}
				return nil
			}))
			defer stop()
			for b.Loop() {
				server.UserSends(person, c.text)
				<-received
			}
		})
	}
}
