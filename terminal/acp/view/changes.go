package view

import (
	"fmt"
	"path/filepath"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal/steps"
)

// maxChanges limits the bytes of changed texts that a turn stores. Further changes are counted.
const maxChanges = 8 << 20

// changes are the files that the tool calls of a turn have changed.
type changes struct {
	words  words.Words
	dir    string // the agent's working folder
	files  []*changedFile
	byPath map[string]*changedFile
	size   int // bytes of the stored texts
}

// changedFile is a file and its changes, in order. It may have none, if only its path is known.
type changedFile struct {
	path  string
	diffs []recordedDiff
}

// recordedDiff is a change of a file that continues no earlier one.
type recordedDiff struct {
	FileDiff
	renderedDiff
	counted bool // the texts are not stored
}

// record records the files that a completed tool call has changed.
func (c *changes) record(t *ToolCall) {
	switch t.Kind {
	case "edit", "delete", "move":
		for _, path := range t.Locations {
			c.file(path)
		}
	}
	if len(t.Diffs) == 0 || t.changesRecorded {
		return
	}
	t.changesRecorded = true
	for _, d := range t.Diffs {
		c.add(d)
	}
}

// RecordWrite records a file that the agent has written through the client.
func (v *View) RecordWrite(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.board.changes.file(path)
		v.due.board.Schedule(boardInterval)
	}
}

// file returns the record of a file.
func (c *changes) file(path string) *changedFile {
	path = filepath.Clean(path)
	if c.byPath == nil {
		c.byPath = map[string]*changedFile{}
	}
	f := c.byPath[path]
	if f == nil {
		f = &changedFile{path: path}
		c.byPath[path] = f
		c.files = append(c.files, f)
	}
	return f
}

// add records a change. A change of the text that the last one has made is joined with it.
func (c *changes) add(d FileDiff) {
	f := c.file(d.Path)
	if n := len(f.diffs) - 1; n >= 0 && !f.diffs[n].counted && d.OldText != nil && f.diffs[n].NewText == *d.OldText {
		d.OldText = f.diffs[n].OldText
		c.size -= f.diffs[n].length()
		f.diffs = f.diffs[:n]
	}
	r := recordedDiff{FileDiff: d, renderedDiff: d.render(c.dir, c.words)}
	if c.size+d.length() > maxChanges {
		r.FileDiff = FileDiff{OldText: d.OldText}
		if d.OldText != nil {
			r.OldText = new(string)
		}
		r.counted, r.body = true, ""
	}
	c.size += r.length()
	f.diffs = append(f.diffs, r)
}

// length returns the bytes of both texts.
func (d FileDiff) length() int {
	if d.OldText == nil {
		return len(d.NewText)
	}
	return len(*d.OldText) + len(d.NewText)
}

// count returns the number of changed lines; known reports whether there are diffs to count.
func (f *changedFile) count() (added, removed int, known bool) {
	for _, d := range f.diffs {
		added, removed = added+d.added, removed+d.removed
		known = known || d.header != ""
	}
	return added, removed, known
}

// summary counts the changed files in one line; "" if there are none.
func (c *changes) summary() string {
	if len(c.files) == 0 {
		return ""
	}
	added, removed, known := 0, 0, false
	for _, f := range c.files {
		a, r, k := f.count()
		added, removed, known = added+a, removed+r, known || k
	}
	text := "✏️ " + c.words.Text(words.FilesChanged, len(c.files))
	if known {
		text += fmt.Sprintf(", +%d −%d", added, removed)
	}
	return text
}

// headLine returns the name of a changed file and the number of its changed lines.
func (c *changes) headLine(f *changedFile) string {
	text := codePath(c.dir, f.path, steps.TitleLength)
	if len(f.diffs) > 0 && f.diffs[0].OldText == nil {
		text += changeNote(c.words, words.ChangeNew)
	}
	added, removed, known := f.count()
	if !known {
		return text + changeNote(c.words, words.ChangeTooLarge)
	}
	return text + countNote(added, removed)
}

// changesReport is the changes of a turn for display.
type changesReport struct {
	text     string // Markdown: the changed files; "" if there are no diffs
	diff     string // all of it; "" if it is too large to be compared
	fileName string // of the diff
}

// report returns the changes for display.
func (c *changes) report() (r changesReport) {
	var heads []string
	var diff strings.Builder
	for _, f := range c.files {
		if len(f.diffs) == 0 {
			continue
		}
		heads = append(heads, c.headLine(f))
		r.fileName = filepath.Base(f.path) + ".diff"
		for _, d := range f.diffs {
			if d.body != "" {
				diff.WriteString(d.header + d.body)
			}
		}
	}
	switch n := len(heads); n {
	case 0:
		return changesReport{}
	case 1:
		heads[0] = "✏️ " + heads[0]
	default:
		r.fileName = "changes.diff"
		if n > shownFiles {
			heads = append(heads[:shownFiles], "… "+c.words.Text(words.MoreFiles, n-shownFiles))
		}
		heads = append([]string{c.summary()}, heads...)
	}
	r.text, r.diff = strings.Join(heads, "\n"), diff.String()
	return r
}
