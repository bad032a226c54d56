package channels

import (
	"strings"
	"unicode/utf8"
)

// Ending returns about the last limit bytes of a longer text, from the beginning of a line if
// possible. It opens a Markdown code block that is cut.
func Ending(source string, format Format, limit int) string {
	at := len(source) - limit
	if at <= 0 {
		return source
	}
	for at < len(source) && !utf8.RuneStart(source[at]) {
		at++
	}
	mark := "…"
	if first, rest, ok := strings.Cut(source[at:], "\n"); ok && strings.TrimSpace(rest) != "" {
		at += len(first) + 1
		mark = "…\n"
	}
	if fence := openFence(source[:at]); fence != "" && format == Markdown {
		mark = "…\n" + fence + "\n"
	}
	return mark + source[at:]
}

// openFence returns the fence of the code block that a text ends in; "": it ends in none.
func openFence(source string) (fence string) {
	for line := range strings.Lines(source) {
		line = strings.TrimLeft(line, " ")
		switch {
		case fence != "" && strings.HasPrefix(line, fence):
			fence = ""
		case fence == "" && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			fence = line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
		}
	}
	return fence
}
