package view

import (
	"fmt"
	"path/filepath"
	"strings"

	"nanobot/internal/linediff"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/steps"
)

const (
	// diffExcerpt limits the lines of a diff in a question, diffWidth their length. The complete
	// diff is sent as a file.
	diffExcerpt, diffWidth = 20, 200
	// maxDiff limits the total length of two texts that are compared.
	maxDiff = 4 << 20
	// shownFiles limits the changed files that are listed.
	shownFiles = 10
)

// FileDiff is a change of a file by a tool call.
type FileDiff struct {
	Path    string  `json:"path"`
	OldText *string `json:"oldText"` // nil: the file is new
	NewText string  `json:"newText"`
}

// renderedDiff is a FileDiff for display.
type renderedDiff struct {
	summary        string // the file name and the number of changed lines
	header         string // the two header lines of a unified diff
	body           string // the unified diff; "" if it cannot be shown
	added, removed int    // lines
}

// render returns the change for display, with paths relative to dir.
func (d FileDiff) render(dir string, w words.Words) renderedDiff {
	name := codePath(dir, d.Path, steps.TitleLength)
	before, note := "", ""
	if d.OldText == nil {
		note = changeNote(w, words.ChangeNew)
	} else {
		before = *d.OldText
	}
	if len(before)+len(d.NewText) > maxDiff {
		return renderedDiff{summary: name + note + changeNote(w, words.ChangeTooLarge)}
	}
	diff := linediff.Compare(before, d.NewText)
	path := relativePath(dir, d.Path)
	if !filepath.IsAbs(path) {
		path = "/" + path
	}
	old := "a" + path
	if d.OldText == nil {
		old = "/dev/null"
	}
	return renderedDiff{
		summary: name + note + countNote(diff.Added, diff.Removed),
		header:  fmt.Sprintf("--- %s\n+++ b%s\n", old, path),
		body:    diff.Unified(), added: diff.Added, removed: diff.Removed,
	}
}

// keepsCRLF reports whether all lines end with CRLF before and after the change.
func (d FileDiff) keepsCRLF() bool {
	isCRLF := func(s string) bool {
		return strings.Contains(s, "\r\n") && strings.Count(s, "\n") == strings.Count(s, "\r\n")
	}
	return d.OldText != nil && isCRLF(*d.OldText) && isCRLF(d.NewText)
}

// changeNote returns what follows the name of a changed file.
func changeNote(w words.Words, k words.Key) string { return " · " + w.Text(k) }

func countNote(added, removed int) string { return fmt.Sprintf(" · +%d −%d", added, removed) }

// codePath returns a path as a code span of up to n characters, relative to dir if it is inside.
func codePath(dir, path string, n int) string {
	return terminal.CodeSpan(terminal.OneLine(visibleLine(relativePath(dir, path)), n))
}

// excerpt returns the first lines of a text, shortened to diffWidth, and whether that is the
// complete text.
func excerpt(text string, lines int) (shown string, all bool) {
	all = true
	var out []string
	for line := range strings.Lines(text) {
		if len(out) == lines {
			return strings.Join(out, "\n"), false
		}
		line = strings.TrimRight(line, "\r\n")
		short := terminal.Shorten(line, diffWidth)
		all = all && short == line
		out = append(out, short)
	}
	return strings.Join(out, "\n"), all
}

// relativePath returns path relative to dir if it is inside dir.
func relativePath(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// relativeNames returns a text in which the paths inside dir are relative to it; "": as they are.
func relativeNames(dir, text string) string {
	if dir == "" || dir == "/" {
		return text
	}
	parts := strings.Split(text, dir+"/")
	text = parts[0]
	for _, part := range parts[1:] {
		begins := text == "" || strings.ContainsAny(text[len(text)-1:], " \"'`([{<=:,")
		if part == "" || strings.HasPrefix(part, " ") || !begins { // the folder itself, or a longer path
			text += dir + "/"
		}
		text += part
	}
	return text
}
