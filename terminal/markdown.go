package terminal

import "strings"

// CodeSpan shows text as it is, in Markdown. A backtick in it would end the span.
func CodeSpan(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

// CodeBlock shows lines as they are, in Markdown, whatever fences are in them.
func CodeBlock(language, text string) string {
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks
}

// OneLine makes one line of a text, with at most n characters.
func OneLine(s string, n int) string {
	return Shorten(strings.Join(strings.Fields(Clean(Shorten(s, 8*n))), " "), n)
}

// Shorten cuts a text that has more than n characters, and marks the cut.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count++; count > n {
			return s[:i] + "…"
		}
	}
	return s
}
