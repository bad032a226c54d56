package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/internal/wanttest"
)

// partsChannel is a channel that receives a message in two parts, each in its own run, and then
// the whole message.
type partsChannel struct {
	*gatewaytest.Channel
	memory channels.Memory
	ran    chan string // what each run found out
}

var _ channels.MemoryUser = (*partsChannel)(nil)

func (c *partsChannel) SetMemory(m channels.Memory) { c.memory = m }

func (c *partsChannel) Run(ctx context.Context, receive channels.Receive) error {
	found, err := c.runStep(ctx, receive)
	if err != nil {
		found = err.Error()
	}
	c.ran <- found
	<-ctx.Done()
	return nil
}

// runStep does one run and returns what the channel has stored in earlier ones.
func (c *partsChannel) runStep(ctx context.Context, receive channels.Receive) (string, error) {
	key, err := c.memory.Load(ctx, "key")
	if err != nil {
		return "", err
	}
	parts, err := c.memory.Parts(ctx)
	if err != nil {
		return "", err
	}
	chat := channels.Chat{Channel: c.Name, ID: "1"}
	known, err := c.memory.Known(ctx, chat, "a")
	if err != nil {
		return "", err
	}
	in := channels.Incoming{Chat: chat, User: channels.User{ID: "u"}, ID: "a", Part: &channels.Part{Group: "g"}}
	switch len(key) {
	case 1:
		in.ID = "b"
	case 2:
		in.Text, in.Part.Last = "whole", true
	case 3:
		in.Part.Group = "h"
		in.ID = "c"
	}
	if err := receive(ctx, in); err != nil && !errors.Is(err, channels.ErrKnown) {
		return "", err
	}
	if len(key) == 3 {
		if err := c.memory.DropParts(ctx, chat, "h"); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%q %d %v", key, len(parts), known), c.memory.Save(ctx, "key", key+"x")
}

func TestAChannelRemembersAndGathersPartsAcrossRestarts(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	ran := make(chan string, 1)
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return &partsChannel{Channel: c, ran: ran} }
	for i, want := range []string{`"" 0 false`, `"x" 1 false`, `"xx" 2 false`, `"xxx" 0 true`, `"xxxx" 0 true`} {
		fx.start()
		if got := <-ran; got != want {
			t.Errorf("run %d finds %s, want %s", i, got, want)
		}
		if i == 2 {
			fx.expect("1", "you said whole")
			fx.awaitReceipts()
		}
		fx.stop()
	}
	fx.expect("1", "you said whole")
}

// memoryChannel is a channel that has the memory which the gateway gives it.
type memoryChannel struct {
	*gatewaytest.Channel
	memory channels.Memory
}

func (c *memoryChannel) SetMemory(m channels.Memory) { c.memory = m }

func TestAChatIsIdleWhileNoTurnRunsThereAndTextsAreNotGathered(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo progress on it; `+waitForFileScript("go"))
	var ch *memoryChannel
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { ch = &memoryChannel{Channel: c}; return ch }
	fx.start()
	chat, other := channels.Chat{Channel: "net", ID: "1"}, channels.Chat{Channel: "net", ID: "2"}
	idle := func(chat channels.Chat) bool { return ch.memory.Idle(chat) }
	wanttest.Equal(t, "idle before the turn:", idle(chat), true)
	fx.net.UserWrites("1", "u", "work")
	fx.awaitText("1", "⏳ on it")
	wanttest.Equal(t, "idle while it runs:", idle(chat), false)
	wanttest.Equal(t, "another chat is idle:", idle(other), true)
	fx.touchFile("go")
	fx.awaitIdle("1")
	fx.awaitTrue("idle after the turn", func() bool { return idle(chat) })
	fx.settings.Gather = time.Second
	fx.gw.Reload(fx.settings)
	wanttest.Equal(t, "idle while texts are gathered:", idle(chat), false)
}
