package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// draftChannel is a textChannel that lets the agent continue when it is sent a draft.
type draftChannel struct {
	textChannel
	dir string
}

func (c *draftChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if o.Kind == channels.Draft {
		if err := os.WriteFile(filepath.Join(c.dir, "shown"), nil, 0o600); err != nil {
			return channels.Receipt{}, err
		}
	}
	return c.textChannel.Send(ctx, o)
}

func TestALocalPersonReadsAnAnswerWhileItIsWritten(t *testing.T) {
	g, dir := newDirect(t, deltaScript("half")+waitForFileScript("shown")+deltaScript(" of it"))
	g.ShowDrafts = true
	ch := &draftChannel{dir: dir}
	musttest.Get(g.Turn(t.Context(), ch, hello))(t)
	if got := ch.texts(); !strings.HasPrefix(got, "draft:half|") || !strings.HasSuffix(got, "|message:half of it") {
		t.Errorf("sent was %s", got)
	}
}

func TestANewLocalConversationForgets(t *testing.T) {
	cfg := config.Default().Terminal
	cfg.Command, cfg.Timeout = remembers, 600
	k := &persistentProtocol{}
	r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: t.TempDir(), Protocol: k, Environ: os.Environ(), Log: zap.NewNop()}))(t)
	g := &gateway.Direct{Runner: r, Log: zap.NewNop()}
	defer g.Close()
	ch := &textChannel{}
	say := func(text string) {
		t.Helper()
		in := hello
		in.Text = text
		musttest.Get(g.Turn(t.Context(), ch, in))(t)
	}
	say("save x")
	say("more")
	g.NewConversation(hello.Chat)
	say("and now")
	wanttest.Equal(t, "sent was", ch.texts(), "message:known: |message:known: x|message:known: ")
}
