// Package linediff compares two texts line by line and writes the difference as diff -u does. It
// knows nothing of files.
package linediff

import (
	"bytes"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff is the difference of two texts by lines.
type Diff struct {
	Added, Removed int // lines
	unified        strings.Builder
}

// Compare returns the difference of two texts. It is anchored at the lines that both texts have
// exactly once, so that its cost is O(n log n); it may be longer than the shortest one.
func Compare(before, after string) *Diff {
	text := diff.Diff("", []byte(before), "", []byte(after))
	for range 3 { // the names of files
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	var d Diff
	for line := range bytes.Lines(text) {
		switch line[0] {
		case '+':
			d.Added++
		case '-':
			d.Removed++
		case '@': // diff(1) omits a count of one
			line = bytes.ReplaceAll(line, []byte(",1 "), []byte(" "))
		}
		d.unified.Write(line)
	}
	return &d
}

// Unified returns the difference as diff(1) writes it with -u, without the names of files.
func (d *Diff) Unified() string { return d.unified.String() }
