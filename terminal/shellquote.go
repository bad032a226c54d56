package terminal

import (
	"errors"
	"strings"
)

// maxCommand is the longest argument that Linux passes to a program (MAX_ARG_STRLEN without the
// final NUL).
const maxCommand = 128<<10 - 1

// errCommandTooLong says that the user's text does not fit into the command line.
var errCommandTooLong = errors.New("command line too long")

// ShellQuote quotes text as one word of a POSIX shell, without NULs. mvdan.cc/sh cannot be used: it
// refuses newlines for POSIX shells, and dash does not understand its form for bash.
func ShellQuote(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
