package entities

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"nanobot/channels"
)

// assemble makes a Text of a text and its marks. White space around the text goes, as Telegram
// would trim it, except at the start of code; so does white space at the ends of marks, and marks
// without text.
func assemble(s string, marks []mark) Text {
	end := len(strings.TrimRightFunc(s, unicode.IsSpace))
	start := blankLen(s)
	kept := make([]mark, 0, len(marks))
	var mono []mark
	for _, m := range marks {
		if m.end = min(m.end, end); m.start >= m.end || !visible(s[m.start:m.end]) {
			continue
		}
		if m.Type == Code || m.Type == Pre {
			start = min(start, m.start)
			mono = append(mono, m)
		}
		kept = append(kept, m)
	}
	if start >= end {
		return Text{}
	}
	slices.SortFunc(mono, compareMarks)
	for i, m := range kept {
		if m.Type != Code && m.Type != Pre {
			m = trim(s, m, mono)
		}
		m.start -= start
		m.end -= start
		kept[i] = m
	}
	s = s[start:end]
	return Text{Text: s, Entities: place(s, nest(s, kept))}
}

// trim takes white space off the ends of a mark, but no further than the code in it.
func trim(s string, m mark, mono []mark) mark {
	said := s[m.start:m.end]
	t := m
	t.end = m.start + len(strings.TrimRightFunc(said, unicode.IsSpace))
	t.start = m.start + blankLen(said)
	from, _ := slices.BinarySearchFunc(mono, m.start, func(c mark, p int) int { return c.start - p })
	to, _ := slices.BinarySearchFunc(mono, m.end, func(c mark, p int) int { return c.start - p })
	if from < to {
		t.start = min(t.start, mono[from].start)
		t.end = max(t.end, mono[to-1].end)
	}
	return t
}

// blankLen returns the length of the white space that s starts with.
func blankLen(s string) int { return len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)) }

// rank orders marks of the same place from the outer to the inner.
var rank = map[string]int{
	Quote: 0, ExpandableQuote: 0, Link: 1, Spoiler: 2, Bold: 3, Italic: 4, Strikethrough: 5, Code: 6, Pre: 6,
}

func compareMarks(a, b mark) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(rank[a.Type], rank[b.Type]))
}

// queue is a heap of marks by their place.
type queue []mark

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return compareMarks(q[i], q[j]) < 0 }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(mark)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// nest sorts marks and cuts those that reach out of another in two: Telegram wants of any two
// either one inside the other, or nothing in common.
func nest(s string, marks []mark) []mark {
	slices.SortFunc(marks, compareMarks)
	q := queue(marks) // a sorted list is a heap
	sorted := make([]mark, 0, len(marks))
	var ends []int // of the marks around the current place, the innermost last
	for len(q) > 0 {
		m := heap.Pop(&q).(mark)
		for len(ends) > 0 && ends[len(ends)-1] <= m.start {
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 && ends[len(ends)-1] < m.end {
			rest := m
			m.end = ends[len(ends)-1]
			rest.start = m.end + blankLen(s[m.end:rest.end])
			heap.Push(&q, rest)
		}
		ends = append(ends, m.end)
		sorted = append(sorted, m)
	}
	return sorted
}

// place turns sorted marks into entities, counted in UTF-16 units.
func place(s string, marks []mark) []Entity {
	if len(marks) == 0 {
		return nil
	}
	places := make([]int, 0, 2*len(marks))
	for _, m := range marks {
		places = append(places, m.start, m.end)
	}
	slices.Sort(places)
	units := make(map[int]int, len(places))
	at, sum := 0, 0
	for _, p := range places {
		sum += channels.UTF16(s[at:p])
		at = p
		units[p] = sum
	}
	all := make([]Entity, len(marks))
	for i, m := range marks {
		all[i] = m.Entity
		all[i].Offset = units[m.start]
		all[i].Length = units[m.end] - units[m.start]
	}
	return all
}

func runeWidth(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// marksOf returns the entities of a text as marks. What lies outside the text, or begins within a
// rune, is brought to its end.
func marksOf(t Text) []mark {
	places := make([]int, 0, 2*len(t.Entities))
	for _, e := range t.Entities {
		places = append(places, e.Offset, e.Offset+e.Length)
	}
	slices.Sort(places)
	bytes := make(map[int]int, len(places))
	at, sum := 0, 0
	for _, p := range places {
		for at < len(t.Text) && sum < p {
			r, n := utf8.DecodeRuneInString(t.Text[at:])
			at += n
			sum += runeWidth(r)
		}
		bytes[p] = at
	}
	marks := make([]mark, len(t.Entities))
	for i, e := range t.Entities {
		marks[i] = mark{Entity: e, start: bytes[e.Offset], end: bytes[e.Offset+e.Length]}
	}
	return marks
}
