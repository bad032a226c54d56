package turn_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

func TestCommandsFromTheMenuGetTheirNameBack(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"/security_review all of it", "/security-review all of it"},
		{"/review", "/Review"},
		{"/other_one", "/other_one"},
		{"review", "review"},
	} {
		t.Run(c.written, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
					injected := <-chat.Injections()
					checkEqual(t, "injected text", injected.Text, c.want)
					injected.MarkRead()
					return terminal.Outcome{Status: terminal.Done}, nil
				})
				fx.disk.memory = map[string]string{"ann/lasting:commands": `["security-review","Review"]`}
				one := fx.beginTurn()
				var ran sync.WaitGroup
				ran.Go(func() { one.Run(t.Context()) })
				synctest.Wait()
				one.Inject(store.Inbound{ID: 8, In: channels.Incoming{Chat: ann, Text: c.written, User: channels.User{ID: "bob"}}})
				ran.Wait()
				fx.stop()
			})
		})
	}
}
