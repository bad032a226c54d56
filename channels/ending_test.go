package channels_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/internal/wanttest"
)

func TestTheEndOfATextBeginsWithALineAndOpensItsCodeBlock(t *testing.T) {
	for source, want := range map[string]string{
		"short":                                "short",
		"one two three\nthe end":               "…\nthe end",
		"one two three the end":                "…hree the end",
		"ääääääääää":                           "…ääääää",
		"one two\n\n\n\n\n":                    "…wo\n\n\n\n\n",
		"```go\nfunc\nf() {}\n```":             "…\n```\nf() {}\n```",
		"```\ncode\n```\nmore text\n  the end": "…\n  the end",
		"~~~~\n~~~\nlast lines\nof code":       "…\n~~~~\nof code",
	} {
		limit := 12
		if source == "one two\n\n\n\n\n" {
			limit = 7
		}
		wanttest.Equal(t, "the end is", channels.Ending(source, channels.Markdown, limit), want)
	}
	wanttest.Equal(t, "of plain text it is", channels.Ending("```go\nfunc\nf() {}\n```", channels.Code, 12), "…\nf() {}\n```")
}
