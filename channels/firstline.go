package channels

import "strings"

// FirstLine returns the first line of a text, cut to a number of runes; 0 means no limit.
func FirstLine(text string, maxRunes int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); maxRunes > 0 && len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return line
}
