package channels

import "strings"

// FirstLine is the first line of a text, cut to a number of runes; 0 is no limit.
func FirstLine(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); most > 0 && len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
