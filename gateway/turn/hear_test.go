package turn_test

import (
	"strings"
	"testing"

	"nanobot/gateway/turn"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestWhatWasHeardIsAQuoteWithoutMarkup(t *testing.T) {
	note := terminal.Heard{Name: "a*.ogg", Text: "one *two*\n\n        indented"}
	table := terminal.Heard{Name: "c.pdf", Text: strings.Repeat("1\n", 500)}
	failed := terminal.Heard{Name: "b_.ogg", Problem: "Could not hear b_.ogg: __init__ failed"}
	for want, heard := range map[string][]terminal.Heard{
		"> one \\*two\\*\n> \n> indented":   {note},
		strings.Repeat("> 1\n", 20) + "> …": {table},
		"> **a\\*\\.ogg**\n> one \\*two\\*\n> \n> indented\n\nCould not hear b\\_\\.ogg\\: \\_\\_init\\_\\_ failed": {note, failed},
	} {
		wanttest.Equal(t, "the message", turn.FrameMessage(terminal.Frame{Kind: terminal.Message, Heard: heard}).Text, want)
	}
}
