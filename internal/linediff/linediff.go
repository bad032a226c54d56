// Package linediff compares two texts line by line and writes the difference as diff -u does. It
// knows nothing of files.
package linediff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxEdits limits the search for the shortest diff, whose cost grows with the square of the
	// number of edits. Texts of more than maxCompared lines in total are not searched at all.
	maxEdits, maxCompared = 400, 100_000
	// contextLines is how many equal lines are shown before and after a change, as by diff -u.
	contextLines = 3
)

// edit is one line of a diff: ' ' is in both texts, '-' only in the old one, '+' only in the new
// one.
type edit struct {
	op   byte
	line string // with its line end
}

// Diff is the difference of two texts by lines.
type Diff struct {
	Added, Removed int // lines
	edits          []edit
}

// Compare returns the difference of two texts. It is the shortest one unless the texts differ in
// more than maxEdits lines.
func Compare(before, after string) Diff {
	d := Diff{edits: compareLines(splitLines(before), splitLines(after))}
	for _, e := range d.edits {
		switch e.op {
		case '+':
			d.Added++
		case '-':
			d.Removed++
		}
	}
	return d
}

func compareLines(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	edits := appendEdits(make([]edit, 0, len(a)+len(b)), ' ', a[:head])
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if middle, ok := shortestEdits(midA, midB); ok {
		edits = append(edits, middle...)
	} else {
		edits = appendEdits(appendEdits(edits, '-', midA), '+', midB)
	}
	return appendEdits(edits, ' ', a[len(a)-tail:])
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func appendEdits(edits []edit, op byte, lines []string) []edit {
	for _, line := range lines {
		edits = append(edits, edit{op, line})
	}
	return edits
}

// shortestEdits finds the fewest edits by Myers' greedy algorithm: reach[k] is the furthest line of
// a that d edits reach on diagonal k.
func shortestEdits(a, b []string) ([]edit, bool) {
	if len(a)+len(b) > maxCompared {
		return nil, false
	}
	most := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*most+3)
	at := func(k int) *int { return &reach[k+most+1] }
	var trace [][]int // copies of reach before each d, from -d-1 to d+1
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(reach[most-d:most+d+3]))
		for k := -d; k <= d; k += 2 {
			x := *at(k - 1) + 1
			if k == -d || k != d && *at(k - 1) < *at(k + 1) {
				x = *at(k + 1)
			}
			for x < len(a) && x-k >= 0 && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			*at(k) = x
			if x >= len(a) && x-k >= len(b) {
				return editsFromTrace(a, b, trace), true
			}
		}
	}
	return nil, false
}

// editsFromTrace follows the trace from the end to the start and returns the edits.
func editsFromTrace(a, b []string, trace [][]int) []edit {
	var edits []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		reach := func(k int) int { return trace[d][k+d+1] }
		k := x - y
		down := k == -d || k != d && reach(k-1) < reach(k+1)
		fromX, fromY := 0, 0
		switch {
		case d == 0:
		case down:
			fromX = reach(k + 1)
			fromY = fromX - (k + 1)
		default:
			fromX = reach(k - 1)
			fromY = fromX - (k - 1)
		}
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			edits = append(edits, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case down:
			y--
			edits = append(edits, edit{'+', b[y]})
		default:
			x--
			edits = append(edits, edit{'-', a[x]})
		}
	}
	slices.Reverse(edits)
	return edits
}

// Unified writes the difference as diff(1) does with -u, without the names of files.
func (d Diff) Unified() string {
	var s strings.Builder
	edits := d.edits
	lineA, lineB := 1, 1
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' && !changeWithin(edits[i:], contextLines) {
			i, lineA, lineB = i+1, lineA+1, lineB+1
			continue
		}
		end := hunkEnd(edits, i)
		n, m := countLines(edits[i:end])
		fmt.Fprintf(&s, "@@ -%s +%s @@\n", formatRange(lineA, n), formatRange(lineB, m))
		for _, e := range edits[i:end] {
			s.WriteByte(e.op)
			s.WriteString(e.line)
			if !strings.HasSuffix(e.line, "\n") {
				s.WriteString("\n\\ No newline at end of file\n")
			}
		}
		i, lineA, lineB = end, lineA+n, lineB+m
	}
	return s.String()
}

// changeWithin reports whether one of the first n+1 edits changes something.
func changeWithin(edits []edit, n int) bool {
	return slices.ContainsFunc(edits[:min(len(edits), n+1)], func(e edit) bool { return e.op != ' ' })
}

// hunkEnd returns the end of the hunk that starts at i. A hunk ends where more than twice
// contextLines lines are equal.
func hunkEnd(edits []edit, i int) int {
	same := 0
	seen := false
	for ; i < len(edits); i++ {
		if edits[i].op != ' ' {
			seen, same = true, 0
			continue
		}
		if same++; seen && same > 2*contextLines {
			return i + 1 - same + contextLines
		}
	}
	return i - max(0, same-contextLines)
}

// countLines returns how many lines of each text the edits cover.
func countLines(edits []edit) (a, b int) {
	for _, e := range edits {
		if e.op != '+' {
			a++
		}
		if e.op != '-' {
			b++
		}
	}
	return a, b
}

// formatRange returns the range of lines in a hunk header.
func formatRange(line, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", line-1)
	case 1:
		return strconv.Itoa(line)
	}
	return fmt.Sprintf("%d,%d", line, n)
}
