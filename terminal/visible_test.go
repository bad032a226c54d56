package terminal_test

import (
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestVariationSelectorsAreVisibleExceptInEmoji(t *testing.T) {
	for text, want := range map[string]string{
		"touch a\ufe01b":         "touch a<U+FE01>b",
		"touch a\ufe0f":          "touch a<U+FE0F>",
		"x\U000e0101":            "x<U+E0101>",
		"\u26a0\ufe0f careful":   "\u26a0\ufe0f careful",
		"\u26a0\ufe0f\ufe0f two": "\u26a0\ufe0f<U+FE0F> two",
	} {
		wanttest.Equal(t, text+": is shown as", terminal.Visible(text), want)
	}
}

func TestACodeSpanKeepsBackticks(t *testing.T) {
	for text, want := range map[string]string{
		"a":           "`a`",
		"a`b":         "``a`b``",
		"`touch x`":   "`` `touch x` ``",
		"X=``id`` `y": "```X=``id`` `y```",
	} {
		wanttest.Equal(t, text+": becomes", terminal.CodeSpan(text), want)
	}
}
