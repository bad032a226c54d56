package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"nanobot/channels"
)

// Cost defines how a network measures a part. The sum of its items must not exceed the limit.
type Cost struct {
	// Words measures text outside code, including the escapes that it needs.
	Words channels.Measure
	// Code measures text within code; nil means Words.
	Code channels.Measure
	// Mark returns the cost of a mark's markup in each part that has a piece of it; nil means 0.
	Mark func(m Mark) int
	// QuotedLine is the cost of each line of a quote.
	QuotedLine int
}

// Split splits a text into parts that cost at most limit and read well by themselves.
//
// A part ends at the best seam in its second half: at an empty line, before a heading, a quote, a
// code block or a list item, or at the end of a line, a sentence or a word. Words, links with their
// warnings, and inline code stay whole if they fit into a part. A mark that is split continues in
// the next part. A grapheme cluster is split only if it is longer than limit, and a rune never: one
// that costs more than limit is a part by itself. Only white space at the seams is lost, and no
// part is blank.
func (t Text) Split(limit int, cost Cost) []Text {
	if !Visible(t.Text) {
		return nil
	}
	if cost.Code == nil {
		cost.Code = cost.Words
	}
	if cost.Mark == nil {
		cost.Mark = func(Mark) int { return 0 }
	}
	if t.cost(cost) <= limit {
		return []Text{t}
	}
	s := newSplitter(t, max(limit, 1), cost)
	var parts []Text
	for pos := 0; pos < len(t.Text); {
		m := s.cut(pos)
		for s.next < len(t.Marks) && t.Marks[s.next].Start < m.end {
			s.around = append(s.around, t.Marks[s.next])
			s.next++
		}
		if part := t.Text[m.start:m.end]; Visible(part) {
			parts = append(parts, Assemble(part, within(s.around, m.start, m.end)))
		}
		pos = m.next
		s.around = slices.DeleteFunc(s.around, func(a Mark) bool { return a.End <= pos })
	}
	return parts
}

// cost returns an upper bound of the cost of the whole text.
func (t Text) cost(c Cost) int {
	sum := max(c.Words(t.Text), c.Code(t.Text))
	for _, m := range t.Marks {
		sum += c.Mark(m)
		if m.Kind == Quote {
			sum += c.QuotedLine * strings.Count(t.Text[m.Start:m.End], "\n")
		}
	}
	return sum
}

// within returns the pieces of marks between start and end, relative to start.
func within(marks []Mark, start, end int) []Mark {
	var inside []Mark
	for _, m := range marks {
		m.Start, m.End = max(m.Start, start)-start, min(m.End, end)-start
		if m.Start < m.End {
			inside = append(inside, m)
		}
	}
	return inside
}

// splitter finds the seams of a text.
type splitter struct {
	text   string
	limit  int
	cost   Cost
	marks  []Mark
	next   int    // index of the first mark after the parts so far
	around []Mark // the marks that continue in the next part

	blocks ranges // code blocks
	quotes ranges
	code   ranges       // code blocks and inline code
	atoms  ranges       // links and inline code, which should stay whole
	starts map[int]bool // starts of headings, list items, quotes and code blocks
	heads  map[int]bool // ends of headings and of lines that start in bold
}

func newSplitter(t Text, limit int, cost Cost) *splitter {
	s := &splitter{text: t.Text, limit: limit, cost: cost, marks: t.Marks, starts: map[int]bool{}, heads: map[int]bool{}}
	for _, m := range t.Marks {
		switch m.Kind {
		case CodeBlock:
			s.blocks = append(s.blocks, m)
			s.code = append(s.code, m)
			s.starts[m.Start] = true
		case Quote:
			s.quotes = append(s.quotes, m)
			s.starts[m.Start] = true
		case Marker:
			s.starts[m.Start] = true
		case Link, Code, WarnedLink:
			s.atoms = s.atoms.add(m)
			if m.Kind == Code {
				s.code = append(s.code, m)
			}
		case Heading:
			s.starts[m.Start] = true
			s.heads[m.End] = true
		case Bold:
			if m.Start == 0 || t.Text[m.Start-1] == '\n' {
				s.heads[m.End] = true
			}
		default:
		}
	}
	return s
}

// ranges are sorted, disjoint marks.
type ranges []Mark

// add appends a mark, unless it is within the last one.
func (r ranges) add(m Mark) ranges {
	if n := len(r); n > 0 && m.Start < r[n-1].End {
		return r
	}
	return append(r, m)
}

// around returns the mark that p is strictly inside of.
func (r ranges) around(p int) (Mark, bool) {
	i, _ := slices.BinarySearchFunc(r, p, func(m Mark, p int) int { return m.End - p - 1 })
	if i < len(r) && r[i].Start < p && p < r[i].End {
		return r[i], true
	}
	return Mark{}, false
}

// holds reports whether the character at p is in one of the marks.
func (r ranges) holds(p int) bool {
	i, _ := slices.BinarySearchFunc(r, p, func(m Mark, p int) int { return m.End - p - 1 })
	return i < len(r) && r[i].Start <= p
}

// measure returns the cost of the text between p and q, which is one cluster or white space.
func (s *splitter) measure(p, q int) int {
	piece := s.text[p:q]
	if s.code.holds(p) {
		return s.cost.Code(piece) + s.lines(p, piece)
	}
	return s.cost.Words(piece) + s.lines(p, piece)
}

// lines returns the cost of the line ends of a piece if it is in a quote.
func (s *splitter) lines(p int, piece string) int {
	if s.cost.QuotedLine == 0 {
		return 0
	}
	n := strings.Count(piece, "\n")
	if _, ok := s.quotes.around(p); n == 0 || !ok {
		return 0
	}
	return n * s.cost.QuotedLine
}

// cut returns the seam at which the part that starts at pos should end.
func (s *splitter) cut(pos int) seam {
	var best [levels]seam
	start, used, mark := pos, 0, s.next
	for _, m := range s.around {
		used += s.cost.Mark(m)
	}
	for p := pos; p < len(s.text); {
		q := s.spaceEnd(p)
		blank := q > p
		if !blank {
			q = s.clusterEnd(p)
		}
		n := s.measure(p, q)
		if blank && p == start && n > s.limit/4 {
			// An indentation that would fill the part is useless.
			start, p = q, q
			continue
		}
		for ; mark < len(s.marks) && s.marks[mark].Start < q; mark++ {
			n += s.cost.Mark(s.marks[mark])
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
	return s.cutAnywhere(start)
}

// choose returns the best seam in the second half of the text that fits. It prefers to move a word,
// link or inline code to the next part as a whole, if it fits there.
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

// cutAnywhere splits where there is no seam: within a cluster that is longer than a part. It first
// skips white space.
func (s *splitter) cutAnywhere(pos int) seam {
	start := s.spaceEnd(pos)
	if start > pos {
		return s.cut(start)
	}
	p, used := pos, 0
	for p < len(s.text) {
		_, n := utf8.DecodeRuneInString(s.text[p:])
		if used += s.cost.Words(s.text[p : p+n]); used > s.limit && p > pos {
			break
		}
		p += n
	}
	return seam{start: pos, end: p, next: p}
}
