package acp

import (
	"fmt"
	"path/filepath"
	"strings"

	"nanobot/internal/linediff"
	"nanobot/terminal"
)

const (
	// diffExcerpt is how many lines of a diff are shown in the chat, diffWidth how long one may be;
	// what is more is in a file.
	diffExcerpt, diffWidth = 20, 200
	// maxDiff is how long two texts may be together to be compared.
	maxDiff = 4 << 20
	// shownFiles is how many changed files of one tool call are named.
	shownFiles = 10
)

// fileDiff is how a tool call changes a file, or a part of it.
type fileDiff struct {
	Path    string  `json:"path"`
	OldText *string `json:"oldText"` // nil: the file is new
	NewText string  `json:"newText"`
}

// compared is a fileDiff as it is shown.
type compared struct {
	head  string // what changed where, in a few words
	names string // the head of body in a file
	body  string // as diff(1) writes it; "" if nothing can be shown
}

func (d fileDiff) compare(dir string) compared {
	name := terminal.CodeSpan(terminal.OneLine(relative(dir, d.Path), titleLength))
	before, note := "", ""
	if d.OldText == nil {
		note = " · new"
	} else {
		before = *d.OldText
	}
	if len(before)+len(d.NewText) > maxDiff {
		return compared{head: name + note + " · too large to be compared"}
	}
	diff := linediff.Compare(before, d.NewText)
	old := "a" + d.Path
	if d.OldText == nil {
		old = "/dev/null"
	}
	return compared{
		head:  fmt.Sprintf("%s%s · +%d −%d", name, note, diff.Added, diff.Removed),
		names: fmt.Sprintf("--- %s\n+++ b%s\n", old, d.Path),
		body:  diff.Unified(),
	}
}

// showDiffs sends what a tool call has changed as one message, and as a file if that is not all.
func (v *view) showDiffs(diffs []fileDiff) {
	v.settleText()
	var heads []string
	var bodies, file strings.Builder
	for _, d := range diffs {
		c := d.compare(v.turn.ExecEnv.Dir)
		heads = append(heads, "✏️ "+c.head)
		if c.body == "" {
			continue
		}
		file.WriteString(c.names + c.body)
		if len(diffs) > 1 {
			bodies.WriteString(c.names)
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
	v.sendWith(text)
}

// excerpt returns the first lines of a text, none of them too long, and whether they are all.
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

// relative names a file as somebody would who works in dir.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
