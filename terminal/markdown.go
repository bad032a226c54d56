package terminal

import "strings"

// CodeSpan returns a text of one line as a Markdown code span, in which backticks stay.
func CodeSpan(s string) string {
	ticks := fence("`", s)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " " // which Markdown removes
	}
	return ticks + s + ticks
}

// fence returns backticks, at least those given, that are longer than any in the text.
func fence(ticks, text string) string {
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks
}

// CodeBlock returns a text as a fenced Markdown code block.
func CodeBlock(language, text string) string {
	ticks := fence("```", text)
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
