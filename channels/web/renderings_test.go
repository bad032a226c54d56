package web_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web"
	"nanobot/internal/musttest"
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

func TestTheStyleSheetKeepsTheWhiteSpaceOfALiteralText(t *testing.T) {
	t.Parallel()
	css := musttest.Get(os.ReadFile("page/style.css"))(t)
	got := web.RenderOutgoing(channels.Outgoing{Text: "a  b\n  c", Format: channels.Literal})
	if want := `<p class="plain">a  b<br>  c</p>`; got != want || !strings.Contains(string(css), ".plain { white-space: pre-wrap }") {
		t.Errorf("got %s, and the style sheet may not keep its white space", got)
	}
}
