package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/internal/musttest"
)

// fileChannel is a channel that adds files to the messages that it receives.
type fileChannel struct {
	*gatewaytest.Channel
	add func(*channels.Incoming)
}

func (p fileChannel) Run(ctx context.Context, receive channels.Receive) error {
	return p.Channel.Run(ctx, func(ctx context.Context, in channels.Incoming) error {
		p.add(&in)
		return receive(ctx, in)
	})
}

// What a channel has saved is ours, and only we may read it.
func TestAnotherUsersAgentHasTheFilesThatAreSentQuotedOrInjected(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may become somebody else")
	}
	fx := newFixture(t, `read -r line; cd users/1; cat sent quoted; touch up; read -r more; cat injected`)
	for _, dir := range []string{filepath.Dir(fx.dir), fx.dir} {
		musttest.Do(t, os.Chmod(dir, 0o755))
	}
	folder := filepath.Join(fx.dir, "users", "1")
	musttest.Do(t, os.MkdirAll(folder, 0o700))
	file := func(name string) []string {
		path := filepath.Join(folder, name)
		musttest.Do(t, os.WriteFile(path, []byte(name+" "), 0o600))
		return []string{path}
	}
	files := map[string]channels.Incoming{
		"one": {Media: file("sent"), ReplyTo: &channels.Quote{ID: "0", Media: file("quoted")}},
		"two": {Media: file("injected")},
	}
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel {
		return fileChannel{c, func(in *channels.Incoming) { in.Media, in.ReplyTo = files[in.Text].Media, files[in.Text].ReplyTo }}
	}
	fx.settings.WhileRunning, fx.terminal.User = "inject", "nobody"
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitFile("users/1/up")
	fx.net.UserWrites("1", "u", "two")
	fx.expect("1", "sent quoted injected")
}
