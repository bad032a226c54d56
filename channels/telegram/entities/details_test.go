package entities_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram/entities"
)

func TestDetailsAreAQuoteThatTelegramAccepts(t *testing.T) {
	for name, tt := range map[string]struct{ text, details string }{
		"a quote in details":    {"text", "before\n\n> quoted **bold**\n\n```\ncode\n```"},
		"many links above":      {strings.Repeat("[a](https://example.org) ", 120), "**below**"},
		"many entities in both": {strings.Repeat("`a` ", 60), strings.Repeat("`b` ", 60)},
	} {
		got := entities.AppendDetails(read(tt.text), tt.details, 4096)
		folded := 0
		for _, e := range got.Entities {
			if e.Type == "expandable_blockquote" {
				folded++
			}
		}
		if wrong := check(got); wrong != "" || len(got.Entities) > 100 || folded != 1 {
			t.Errorf("%s: %s; %d quotes in %d entities", name, wrong, folded, len(got.Entities))
		}
	}
}
