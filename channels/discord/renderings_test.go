package discord_test

import (
	"flag"
	"testing"

	"nanobot/channels/channelstest"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestRenderingsOfFixedMessages(t *testing.T) {
	t.Parallel()
	channelstest.CheckRenderings(t, channelstest.RenderingOptions{Channel: newTestChannel(t).Channel, Chat: chatOf("4200000000000000999"), Update: *update})
}

func TestRenderingsOfOutputsOfPrograms(t *testing.T) {
	t.Parallel()
	channelstest.CheckOutputs(t, channelstest.RenderingOptions{Channel: newTestChannel(t).Channel, Chat: chatOf("4200000000000000999"), Update: *update})
}
