package telegram_test

import (
	"flag"
	"testing"

	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestRenderingsOfFixedMessages(t *testing.T) {
	t.Parallel()
	// The limits are those of Telegram itself. Plan makes no call.
	r := newTestChannel(t, func(o *telegram.Options) { o.APIBase = telegram.DefaultAPI })
	channelstest.CheckRenderings(t, channelstest.RenderingOptions{Channel: r.Channel, Chat: chatOf("-1001234567890"), Update: *update})
}

func TestRenderingsOfOutputsOfPrograms(t *testing.T) {
	t.Parallel()
	channelstest.CheckOutputs(t, channelstest.RenderingOptions{Channel: newTestChannel(t).Channel, Chat: chatOf("42"), Update: *update})
}
