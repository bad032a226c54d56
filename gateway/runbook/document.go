package runbook

import (
	"fmt"
	"strings"
	"unicode"
)

// maxMadeLabel limits the label, in characters, that is made of a document's first line.
const maxMadeLabel = 80

// ParseDocument parses a document that an agent wants to store. Each H1 begins a runbook. A
// document without H1 and H2 is a runbook of one step, whose label is made of its first line. The
// problems have the lines of the document.
func ParseDocument(text string) (books []Runbook, errors, warnings []Problem) {
	parts, before := splitDocument(text)
	labels := map[string]bool{}
	for _, part := range parts {
		book, mistakes, doubts := Parse(part)
		if labels[book.Label] && len(mistakes) == 0 {
			mistakes = append(mistakes, Problem{Line: 1, Message: fmt.Sprintf("There are two H1 %q.", book.Label)})
		}
		labels[book.Label] = true
		books = append(books, book)
		errors, warnings = appendMoved(errors, mistakes, before), appendMoved(warnings, doubts, before)
		before += strings.Count(part, "\n")
	}
	return books, errors, warnings
}

// appendMoved appends problems of a part of a document that has some lines before it.
func appendMoved(all, problems []Problem, before int) []Problem {
	for _, p := range problems {
		p.Line = max(1, p.Line+before)
		all = append(all, p)
	}
	return all
}

// splitDocument returns the texts of a document's runbooks, and the number of lines before the
// first one, which is negative if an H1 was added. A text that Parse refuses stays whole.
func splitDocument(text string) (parts []string, before int) {
	if len(text) > MaxText || deepNesting().MatchString(text) {
		return []string{text}, 0
	}
	clean := normalizeText(text)
	o := readOutline(clean)
	switch {
	case len(o.titles) == 0 && len(o.steps) == 0:
		return []string{"# " + makeLabel(clean) + "\n\n" + clean}, -2
	case len(o.titles) < 2:
		return []string{text}, 0
	}
	start := 0
	for _, title := range o.titles[1:] {
		end := o.lineStart(title.line)
		parts, start = append(parts, clean[start:end]), end
	}
	return append(parts, clean[start:]), 0
}

// makeLabel returns the first line that has a letter or a digit, without the marks of lists, quotes
// and code.
func makeLabel(text string) string {
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			label := []rune(strings.Trim(line, "#>-*+`~ \t\n"))
			if len(label) > maxMadeLabel {
				label = append(label[:maxMadeLabel], '…')
			}
			return string(label)
		}
	}
	return ""
}
