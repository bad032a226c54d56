package gateway_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
)

func TestTheProgressOfAToolIsShownBelowTheChecklistOfARun(t *testing.T) {
	t.Parallel()
	const book = "# Look\n\n## First\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"true\"}}}\n```\n## Second\n\nLook at it.\n"
	fx := newRunbookFixture(t, "touch begun; "+waitForFileScript("go"), map[string]string{"look": book})
	fx.start()
	fx.net.UserWrites("1", "ann", "/run look")
	fx.awaitFile("begun")
	c := fx.connectTools()
	if got := c.callForJSON("progress", map[string]any{"text": "counting sheep"}); !strings.Contains(got, `"shown":true`) {
		t.Fatalf("the agent was told %s", got)
	}
	board := fx.awaitText("1", "counting sheep")
	if !strings.Contains(board.Text, "✅ 1. First\n") || strings.Index(board.Text, "2. Second") > strings.Index(board.Text, "counting sheep") {
		t.Errorf("the board is %q", board.Text)
	}
	fx.touchFile("go")
	fx.awaitReport("1", "The run is complete.")
}

// ringingChannel records which texts notify people.
type ringingChannel struct {
	*gatewaytest.Channel
	mu    sync.Mutex
	rings map[string]bool
}

func (c *ringingChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	c.mu.Lock()
	c.rings[o.Text] = !o.Silent
	c.mu.Unlock()
	return c.Channel.Send(ctx, o)
}

func TestAMessageOfAToolNotifiesPeopleOnlyBetweenTurns(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, "touch begun; "+waitForFileScript("go"), nil)
	ch := &ringingChannel{rings: map[string]bool{}}
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel {
		ch.Channel = c
		return ch
	}
	fx.start()
	fx.net.UserWrites("1", "ann", "hello")
	fx.awaitFile("begun")
	c := fx.connectTools()
	for _, text := range []string{"during", "between"} {
		if got := c.callForJSON("send_message", map[string]any{"text": text}); !strings.Contains(got, `"sent":true`) {
			t.Fatalf("the agent was told %s", got)
		}
		fx.awaitText("1", text)
		fx.touchFile("go")
		fx.awaitIdle("1")
	}
	if ch.mu.Lock(); ch.rings["during"] || !ch.rings["between"] {
		t.Errorf("people are notified of %v", ch.rings)
	}
	ch.mu.Unlock()
}
