package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mistake is one error in a configuration. It never contains a secret.
type Mistake struct {
	File     string // path of the file as the caller wrote it; "" for a value from the environment
	Line     int    // from 1; 0 if the mistake is about the whole file
	Column   int    // from 1, counted in characters
	Variable string // environment variable that set the value; "" for a value from the file
	Key      string // dotted key, with unusual names in quotes; "" if the mistake is not about a key
	Text     string // what is wrong, or what the value must be
	Value    string // the value that was found, without secrets; "" if the text is enough
	Hint     string // a suggestion such as "did you mean …"; "" if there is none
}

// String formats the mistake as one line, such as: config.json:6:16: terminal.timeout: must be at
// least 1 (got -1)
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
	text := m.Text
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, "; ") + ")"
	}
	return strings.Map(replaceControl, strings.Join(append(parts, text), ": "))
}

// replaceControl replaces line breaks and other control characters in names, so that a mistake
// stays on one line.
func replaceControl(r rune) rune {
	if unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}

// Mistakes are all errors in a configuration: those in the file from top to bottom, then those in
// the environment. Every error that Load returns has this type.
type Mistakes []Mistake

// Error formats one mistake per line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// sorted sorts the mistakes by position and removes duplicates.
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
