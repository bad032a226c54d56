package acp

import (
	"fmt"
	"path/filepath"
	"strings"

	"nanobot/internal/linediff"
	"nanobot/terminal"
)

const (
	// diffExcerpt limits the lines of a diff in the chat, diffWidth their length. The complete diff
	// is sent as a file.
	diffExcerpt, diffWidth = 20, 200
	// maxDiff limits the total length of two texts that are compared.
	maxDiff = 4 << 20
	// shownFiles limits the changed files of a tool call that are listed.
	shownFiles = 10
)

// fileDiff is a change of a file by a tool call.
type fileDiff struct {
	Path    string  `json:"path"`
	OldText *string `json:"oldText"` // nil: the file is new
	NewText string  `json:"newText"`
}

// renderedDiff is a fileDiff for display.
type renderedDiff struct {
	summary string // the file name and the number of changed lines
	header  string // the two header lines of a unified diff
	body    string // the unified diff; "" if it cannot be shown
}

func (d fileDiff) render(dir string) renderedDiff {
	name := terminal.CodeSpan(terminal.OneLine(relativePath(dir, d.Path), titleLength))
	before, note := "", ""
	if d.OldText == nil {
		note = " · new"
	} else {
		before = *d.OldText
	}
	if len(before)+len(d.NewText) > maxDiff {
		return renderedDiff{summary: name + note + " · too large to be compared"}
	}
	diff := linediff.Compare(before, d.NewText)
	old := "a" + d.Path
	if d.OldText == nil {
		old = "/dev/null"
	}
	return renderedDiff{
		summary: fmt.Sprintf("%s%s · +%d −%d", name, note, diff.Added, diff.Removed),
		header:  fmt.Sprintf("--- %s\n+++ b%s\n", old, d.Path),
		body:    diff.Unified(),
	}
}

// showDiffs sends the changes of a tool call as one message, with the complete diff as a file if
// the message shows only a part.
func (v *view) showDiffs(diffs []fileDiff) {
	v.flushMessages()
	var heads []string
	var bodies, file strings.Builder
	for _, d := range diffs {
		c := d.render(v.turn.ExecEnv.Dir)
		heads = append(heads, "✏️ "+c.summary)
		if c.body == "" {
			continue
		}
		file.WriteString(c.header + c.body)
		if len(diffs) > 1 {
			bodies.WriteString(c.header)
		}
		bodies.WriteString(c.body)
	}
	if n := len(heads); n > shownFiles {
		heads = append(heads[:shownFiles], fmt.Sprintf("… and %d more files", n-shownFiles))
	}
	text := strings.Join(heads, "\n")
	shown, all := excerpt(bodies.String(), diffExcerpt)
	if shown != "" {
		text += "\n" + terminal.CodeBlock("diff", shown)
	}
	if all {
		v.emit(terminal.Frame{Kind: terminal.Message, Text: text})
		return
	}
	name := "changes.diff"
	if len(diffs) == 1 {
		name = filepath.Base(diffs[0].Path) + ".diff"
	}
	if err := v.files.write(name, []byte(file.String())); err != nil {
		v.log("warning", "diff not sent as a file: %s", err)
	}
	v.sendFilesWithText(text)
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
