package terminal

import (
	"slices"

	"nanobot/internal/lazyregexp"
)

// terminalWanted matches what programs print that miss a terminal: the errors of curses, top, vim,
// tmux, sudo, docker, stty and Ink, and the sequences that switch to the alternate screen.
var terminalWanted = lazyregexp.New(`(?i)\bnot (?:to |from )?a (?:tty|terminal)\b|\b(?:error opening|open) terminal\b|` +
	`\b(?:requires?|needs?) a (?:tty|terminal)\b|\bterminal is required\b|\bfailed tty get\b|\bno tty\b|` +
	`\binappropriate ioctl for device\b|\bcould not find terminal\b|\braw mode is not supported\b|` +
	`\bTERM environment variable\b|\x1b\[\?(?:1049|1047|47)h`)

// asksForTerminal reports whether a program has printed that it misses a terminal.
func asksForTerminal(outputs ...string) bool {
	return slices.ContainsFunc(outputs, func(text string) bool { return terminalWanted().MatchString(text) })
}
