package terminal

import "strings"

// CodeSpan returns a text as a Markdown code span. Backticks, which would end the span, become
// apostrophes.
func CodeSpan(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

// CodeBlock returns a text as a fenced Markdown code block, with a fence longer than any in the
// text.
func CodeBlock(language, text string) string {
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks
}

// OneLine joins the lines of a text and shortens it to n characters.
func OneLine(s string, n int) string {
	return Shorten(strings.Join(strings.Fields(Clean(Shorten(s, 8*n))), " "), n)
}

// Shorten cuts a text after n characters and appends an ellipsis.
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
