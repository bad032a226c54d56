package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mistake is one thing that is wrong with a configuration. It never contains a secret.
type Mistake struct {
	File     string // the file as the caller named it; "" when the value came from the environment
	Line     int    // from 1; 0 when the whole file is meant
	Column   int    // from 1, counted in characters
	Variable string // the environment variable the value came from; "" when it came from the file
	Key      string // the dotted key, odd names quoted; "" when no key is meant
	Text     string // what is wrong, or what would be right
	Value    string // what was found, as it may be shown; "" when that adds nothing
	Hint     string // what was probably meant; "" when nobody can tell
}

// String is the one line a user reads: config.json:6:16: terminal.timeout: must be at least 1 (got
// -1).
func (m Mistake) String() string {
	parts := make([]string, 0, 3)
	switch {
	case m.Variable != "":
		parts = append(parts, m.Variable)
	case m.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d:%d", m.File, m.Line, m.Column))
	case m.File != "":
		parts = append(parts, m.File)
	}
	if m.Key != "" {
		parts = append(parts, m.Key)
	}
	var notes []string
	if m.Value != "" {
		notes = append(notes, "got "+m.Value)
	}
	if m.Hint != "" {
		notes = append(notes, m.Hint)
	}
	want := m.Text
	if len(notes) > 0 {
		want += " (" + strings.Join(notes, "; ") + ")"
	}
	return strings.Map(printable, strings.Join(append(parts, want), ": "))
}

// printable keeps a mistake on its line whatever a file or a variable is called.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}

// Mistakes is everything that is wrong with a configuration: first what is in the file, from top to
// bottom, then what is in the environment. Every error of Load is one.
type Mistakes []Mistake

// Error prints one mistake a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// sorted puts mistakes in the order in which they are read and drops repetitions.
func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(
			cmp.Compare(a.Variable, b.Variable),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Text, b.Text),
		)
	})
	return slices.Compact(m)
}
