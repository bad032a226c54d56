package cli_test

import (
	"flag"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/cli"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestRenderingsOfFixedMessages(t *testing.T) {
	t.Parallel()
	channelstest.CheckRenderings(t, channelstest.RenderingOptions{
		Channel: cli.New(cli.Options{ChatID: "local"}), Chat: channels.Chat{Channel: cli.Name, ID: "local"}, Update: *update,
		Shown: func(o channels.Outgoing) string {
			var b strings.Builder
			width := func() int { return 60 }
			for _, p := range []cli.Printer{
				cli.TextPrinter{Out: &b, Progress: &b},
				cli.JSONPrinter{Out: &b},
				&cli.TerminalPrinter{Out: &b, Width: width}, &cli.TerminalPrinter{Out: &b, Width: width, Lines: true, Style: true},
			} {
				if err := p.Show(o); err != nil {
					t.Error(err)
				}
			}
			return b.String()
		},
	})
}

func TestRenderingsOfOutputsOfPrograms(t *testing.T) {
	t.Parallel()
	channelstest.CheckOutputs(t, channelstest.RenderingOptions{
		Channel: cli.New(cli.Options{ChatID: "local"}), Chat: channels.Chat{Channel: cli.Name, ID: "local"}, Update: *update,
		Shown: func(o channels.Outgoing) string {
			var b strings.Builder
			if err := (&cli.TerminalPrinter{Out: &b, Width: func() int { return 80 }}).Show(o); err != nil {
				t.Error(err)
			}
			return b.String()
		},
	})
}
