package entities

import (
	"slices"
	"unicode/utf8"

	"nanobot/channels"
)

// Telegram ignores what a message has beyond 100 entities.
const maxEntities = 100

// Split cuts a text into parts of at most limit UTF-16 units, each of which reads well by itself.
//
// A part ends at the best place in its latter half: an empty line, before a quote, a block of code
// or a list item, the end of a line, of a sentence, of a word. Words, links and code in a line stay
// whole if they fit a part. An entity that is cut goes on in the next part. Grapheme clusters are
// cut only when one alone is longer than limit, and runes never: with a limit of 1 an emoji is a
// part of 2 units. Nothing but white space at the seams is lost, and no part is blank. Of more than
// 100 entities in a part the least telling are dropped, since Telegram would drop the last.
func (t Text) Split(limit int) []Text {
	if !visible(t.Text) {
		return nil
	}
	limit = max(limit, 1)
	if channels.UTF16(t.Text) <= limit {
		return []Text{{Text: t.Text, Entities: prune(t.Entities)}}
	}
	marks := marksOf(t)
	s := newSplitter(t.Text, limit, marks)
	var parts []Text
	var around []mark // that reach into the next part
	for pos := 0; pos < len(t.Text); {
		m := s.cut(pos)
		for len(marks) > 0 && marks[0].start < m.end {
			around = append(around, marks[0])
			marks = marks[1:]
		}
		if part := t.Text[m.start:m.end]; visible(part) {
			p := assemble(part, within(around, m.start, m.end))
			p.Entities = prune(p.Entities)
			parts = append(parts, p)
		}
		pos = m.next
		around = slices.DeleteFunc(around, func(a mark) bool { return a.end <= pos })
	}
	return parts
}

// within returns what lies of marks between two places, counted from the first.
func within(marks []mark, start, end int) []mark {
	var inside []mark
	for _, m := range marks {
		m.start, m.end = max(m.start, start)-start, min(m.end, end)-start
		if m.start < m.end {
			inside = append(inside, m)
		}
	}
	return inside
}

// loss orders the types of entity by how little they would be missed.
var loss = map[string]int{
	Spoiler: 0, Link: 1, Pre: 2, Quote: 3, ExpandableQuote: 3, Code: 4, Bold: 5, Strikethrough: 5, Italic: 6,
}

// prune keeps the 100 entities that matter most.
func prune(all []Entity) []Entity {
	if len(all) <= maxEntities {
		return all
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return loss[all[a].Type] - loss[all[b].Type] })
	order = order[:maxEntities]
	slices.Sort(order)
	kept := make([]Entity, len(order))
	for i, at := range order {
		kept[i] = all[at]
	}
	return kept
}

// splitter finds the seams of a text.
type splitter struct {
	text   string
	limit  int
	pres   ranges
	quotes ranges
	atoms  ranges       // links and code, better left whole
	starts map[int]bool // of quotes and blocks of code
	heads  map[int]bool // the ends of lines that are bold as a whole
}

func newSplitter(text string, limit int, marks []mark) *splitter {
	s := &splitter{text: text, limit: limit, starts: map[int]bool{}, heads: map[int]bool{}}
	for _, m := range marks {
		switch m.Type {
		case Pre:
			s.pres = append(s.pres, m)
			s.starts[m.start] = true
		case Quote, ExpandableQuote:
			s.quotes = append(s.quotes, m)
			s.starts[m.start] = true
		case Link, Code:
			s.atoms = append(s.atoms, m)
		case Bold:
			if m.start == 0 || text[m.start-1] == '\n' {
				s.heads[m.end] = true
			}
		}
	}
	return s
}

// ranges are marks in order and apart from one another.
type ranges []mark

// around returns the mark that p lies inside of.
func (r ranges) around(p int) (mark, bool) {
	i, _ := slices.BinarySearchFunc(r, p, func(m mark, p int) int { return m.end - p - 1 })
	if i < len(r) && r[i].start < p && p < r[i].end {
		return r[i], true
	}
	return mark{}, false
}

// cut finds where the part that starts at pos should end.
func (s *splitter) cut(pos int) seam {
	var best [levels]seam
	start, used := pos, 0
	for p := pos; p < len(s.text); {
		q := s.spaceEnd(p)
		blank := q > p
		if !blank {
			q = s.clusterEnd(p)
		}
		n := channels.UTF16(s.text[p:q])
		if blank && p == start && n > s.limit/4 {
			// An indentation that would fill the part is of no use to anybody.
			start, p = q, q
			continue
		}
		if used += n; used > s.limit {
			break
		}
		p = q
		if blank {
			continue
		}
		m := s.seamAt(q)
		m.start, m.used = start, used
		best[m.level] = m
		if m.next == len(s.text) {
			return m
		}
	}
	if m, ok := s.choose(best); ok {
		return m
	}
	return s.force(start)
}

// choose takes the best seam in the latter half of what fits. A word, link or code that would be
// cut is rather moved to the next part as a whole, if it fits that.
func (s *splitter) choose(best [levels]seam) (seam, bool) {
	longest, last := 0, seam{}
	for l, m := range best {
		longest = max(longest, m.used)
		if level(l) >= space && m.used > last.used {
			last = m
		}
	}
	for l := paragraph; l >= space; l-- {
		if m := best[l]; m.used > 0 && 2*m.used >= longest {
			return m, true
		}
	}
	if last.used > 0 && s.wordFits(last.next) {
		return last, true
	}
	for l := inside; l >= cluster; l-- {
		if m := best[l]; m.used > 0 && 2*m.used >= longest {
			return m, true
		}
	}
	return last, last.used > 0
}

// force cuts where there is no seam: through a cluster that is longer than a part, or before one
// that is not, but for white space before it.
func (s *splitter) force(pos int) seam {
	start := s.spaceEnd(pos)
	if start > pos {
		return s.cut(start)
	}
	p, used := pos, 0
	for p < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[p:])
		if used += runeWidth(r); used > s.limit && p > pos {
			break
		}
		p += n
	}
	return seam{start: pos, end: p, next: p}
}
