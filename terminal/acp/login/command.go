package login

import (
	"slices"
	"strings"

	"nanobot/internal/lazyregexp"
)

var (
	// shellWord matches a word of a shell command, with quotes and substitutions, or an operator.
	shellWord = lazyregexp.New(`(?s)(?:\\.|\$\([^)]*\)?|\x60[^\x60]*\x60?|'[^']*'?|"(?:\\.|[^"\\])*"?|[^\s;&|'"\\\x60])+|\\|[;&|]+|\n`)
	// operator matches what separates the commands of a line.
	operator = lazyregexp.New(`^[;&|\n]+$`)
	// assignment matches the beginning of an assignment, within a word only after a quote, a space
	// or an operator.
	assignment = lazyregexp.New(`(?:^|[\s'"(;&|])[A-Za-z_][A-Za-z0-9_]*=`)
)

// launchers run the program that is named after them.
var launchers = []string{"exec", "env", "command", "nohup", "export"}

// visibleCommand returns the configured command as people in a chat may see it: without assignments
// of variables, which may contain secrets. Unless internals may be shown, it is only the program of
// the last command, with an ellipsis for its arguments.
func visibleCommand(command string, reveal bool) string {
	var shown, last []string
	for _, word := range shellWord().FindAllString(command, -1) {
		switch {
		case operator().MatchString(word):
			last = nil
		case assignment().MatchString(word) && strings.ContainsAny(word[:1], `'"`):
			word = "…" // a script of its own
			last = append(last, word)
		case assignment().MatchString(word):
			continue
		case len(last) > 0 || !slices.Contains(launchers, word):
			last = append(last, word)
		}
		shown = append(shown, word)
	}
	switch {
	case reveal:
		return strings.TrimSpace(strings.Join(shown, " "))
	case len(last) == 0:
		return "…"
	case len(last) > 1:
		return last[0] + " …"
	}
	return last[0]
}
