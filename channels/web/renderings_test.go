package web_test

import (
	"flag"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestRenderingsOfFixedMessages(t *testing.T) {
	t.Parallel()
	channelstest.CheckRenderings(t, channelstest.RenderingOptions{
		Channel: newFixture(t).ch, Chat: channels.Chat{Channel: web.Name, ID: "web-test"}, Update: *update,
		Shown: func(o channels.Outgoing) string { return web.RenderOutgoing(o) },
	})
}

func TestRenderingsOfOutputsOfPrograms(t *testing.T) {
	t.Parallel()
	channelstest.CheckOutputs(t, channelstest.RenderingOptions{
		Channel: newFixture(t).ch, Chat: channels.Chat{Channel: web.Name, ID: "web-test"}, Update: *update,
		Shown: func(o channels.Outgoing) string { return web.RenderOutgoing(o) },
	})
}
