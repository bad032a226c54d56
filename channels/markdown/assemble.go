package markdown

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"unicode"
)

// Assemble returns a Text with these marks. It removes white space around the text, except at the
// start of code, white space at the ends of marks, and marks without visible text. It merges
// adjacent marks of the same kind.
func Assemble(s string, marks []Mark) Text {
	end := len(strings.TrimRightFunc(s, unicode.IsSpace))
	start := blankLen(s)
	kept := make([]Mark, 0, len(marks))
	var code []Mark
	for _, m := range marks {
		if m.End = min(m.End, end); m.Start >= m.End || !Visible(s[m.Start:m.End]) {
			continue
		}
		if isCode(m) {
			start = min(start, m.Start)
			code = append(code, m)
		}
		kept = append(kept, m)
	}
	if start >= end {
		return Text{}
	}
	slices.SortFunc(code, compareMarks)
	for i, m := range kept {
		if !isCode(m) && m.Kind != Marker {
			m = trim(s, m, code)
		}
		m.Start -= start
		m.End -= start
		kept[i] = m
	}
	s = s[start:end]
	return Text{Text: s, Marks: nest(s, unite(kept))}
}

func isCode(m Mark) bool { return m.Kind == Code || m.Kind == CodeBlock }

// trim removes white space from the ends of a mark, but not from code within it.
func trim(s string, m Mark, code []Mark) Mark {
	said := s[m.Start:m.End]
	t := m
	t.End = m.Start + len(strings.TrimRightFunc(said, unicode.IsSpace))
	t.Start = m.Start + blankLen(said)
	from, _ := slices.BinarySearchFunc(code, m.Start, func(c Mark, p int) int { return c.Start - p })
	to, _ := slices.BinarySearchFunc(code, m.End, func(c Mark, p int) int { return c.Start - p })
	if from < to {
		t.Start = min(t.Start, code[from].Start)
		t.End = max(t.End, code[to-1].End)
	}
	return t
}

// blankLen returns the length of the white space that s starts with.
func blankLen(s string) int { return len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)) }

// rank orders marks with the same range from the outer to the inner.
var rank = [kinds]int{
	Quote: 1, Heading: 2, WarnedLink: 3, Link: 3, Spoiler: 4, Bold: 5, Italic: 6, Strike: 7, Code: 8, CodeBlock: 8,
	Marker: 9, AutoLink: 9,
}

func compareMarks(a, b Mark) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(rank[a.Kind], rank[b.Kind]))
}

// unite merges inline marks of the same kind that are adjacent or nested.
func unite(marks []Mark) []Mark {
	slices.SortFunc(marks, compareMarks)
	var last [kinds]int // by kind: the index in kept of the last mark, plus one
	kept := marks[:0]
	for _, m := range marks {
		switch m.Kind {
		case Bold, Italic, Strike, Spoiler:
			if i := last[m.Kind]; i > 0 && kept[i-1].End >= m.Start {
				kept[i-1].End = max(kept[i-1].End, m.End)
				continue
			}
			last[m.Kind] = len(kept) + 1
		default:
		}
		kept = append(kept, m)
	}
	return kept
}

// queue is a heap of marks, ordered by compareMarks.
type queue []Mark

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return compareMarks(q[i], q[j]) < 0 }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(Mark)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// nest sorts marks and splits those that overlap, so that any two marks are nested or disjoint.
func nest(s string, marks []Mark) []Mark {
	if len(marks) == 0 {
		return nil
	}
	slices.SortFunc(marks, compareMarks)
	if nested(marks) {
		return marks
	}
	q := queue(marks) // a sorted list is a heap
	sorted := make([]Mark, 0, len(marks))
	var ends []int // ends of the enclosing marks, the innermost last
	for len(q) > 0 {
		m := heap.Pop(&q).(Mark)
		for len(ends) > 0 && ends[len(ends)-1] <= m.Start {
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 && ends[len(ends)-1] < m.End {
			rest := m
			m.End = ends[len(ends)-1]
			rest.Start = m.End + blankLen(s[m.End:rest.End])
			heap.Push(&q, rest)
		}
		ends = append(ends, m.End)
		sorted = append(sorted, m)
	}
	return sorted
}

// nested reports whether sorted marks do not overlap.
func nested(marks []Mark) bool {
	var ends []int // ends of the enclosing marks, the innermost last
	for _, m := range marks {
		for len(ends) > 0 && ends[len(ends)-1] <= m.Start {
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 && ends[len(ends)-1] < m.End {
			return false
		}
		ends = append(ends, m.End)
	}
	return true
}
