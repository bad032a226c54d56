package terminal

import (
	"errors"
	"strings"
)

// maxCommand is the longest single argument that Linux hands to a program (MAX_ARG_STRLEN less the
// final NUL).
const maxCommand = 128<<10 - 1

// errTooLong says that the user's text does not fit into the command.
var errTooLong = errors.New("command line too long")

// ShellQuote makes text one word of a POSIX shell. mvdan.cc/sh cannot be used for this: it refuses
// a newline for POSIX shells, and its form for bash is not understood by dash. No shell word can
// hold a NUL.
func ShellQuote(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
