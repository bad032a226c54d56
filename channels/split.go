package channels

import "strings"

// Split cuts a Markdown text into parts that measure at most limit, each of which reads well by
// itself.
//
// A part ends at the best place in its latter half: an empty line, before a heading or list item,
// the end of a line, of a sentence, of a word. Grapheme clusters, links, images, URLs, code spans
// and table rows stay whole unless one alone exceeds limit. A fence that is cut is closed, and
// opened again in the next part with the same line, or without its info string where that would
// take up half a part; a table that is cut has its head repeated if that leaves half a part.
// Nothing but white space at the seams is lost, and of code not even that.
//
// Below some 16 units fences no longer fit and are cut like text. A rune that measures more than
// limit is a part of its own. A text of nothing but white space has no parts.
func Split(text string, limit int, measure Measure) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	limit = max(limit, 1)
	if measure(text) <= limit {
		return []string{text}
	}
	s := &splitter{text: text, max: limit, measure: measure, layout: newLayout(text, limit, measure)}
	s.pos = firstLine(text)
	for s.pos < len(text) {
		s.take(s.cut())
	}
	return s.parts
}

// splitter cuts one text from front to back.
type splitter struct {
	layout
	text    string
	max     int
	measure Measure

	parts []string
	pos   int    // where the next part starts
	lead  string // what is put before it: the line that reopens a fence, or the head of a table
	at    cursor // pos in the layout
	giant span   // the last cluster found that is too long for a part, to be cut between runes
}

// firstLine returns the start of the first line that is not empty.
func firstLine(text string) int {
	w := spaceEnd(text, 0, len(text))
	return strings.LastIndexByte(text[:w], '\n') + 1
}

// cut finds where the part that starts at pos should end.
func (s *splitter) cut() seam {
	var best [levels]seam
	used := s.measure(s.lead)
	c := s.at
	for p := s.pos; p < len(s.text); {
		q, blank := s.atom(p, s.max-used, &c)
		if blank && p == s.pos && s.measure(s.text[p:q]) > s.max/4 {
			// An indentation that would fill the part is of no use to anybody.
			s.pos, p = q, q
			continue
		}
		used += s.measure(s.text[p:q])
		if used > s.max {
			break
		}
		p = q
		if blank {
			continue
		}
		m, ok := s.seamAt(q, &c)
		if !ok || used+s.measure(m.tail(s.text)) > s.max {
			continue
		}
		m.used = used
		best[m.level] = m
		if m.next == len(s.text) {
			return m
		}
	}
	return s.choose(best)
}

// choose takes the best seam in the latter half of what fits.
func (s *splitter) choose(best [levels]seam) seam {
	longest := 0
	for _, m := range best[cluster:] {
		longest = max(longest, m.used)
	}
	for l := paragraph; l > poor; l-- {
		if m := best[l]; m.next > s.pos && 2*m.used >= longest {
			return m
		}
	}
	if best[poor].next > s.pos {
		return best[poor]
	}
	q := runeEnd(s.text, s.pos)
	return seam{end: q, next: q}
}

// take makes a part of the text up to a seam, and moves behind it.
func (s *splitter) take(m seam) {
	part := s.lead + s.text[s.pos:m.end] + m.tail(s.text)
	if m.next == len(s.text) {
		if whole := s.lead + s.text[s.pos:]; s.measure(whole) <= s.max {
			part = whole
		}
	}
	if strings.TrimSpace(part) != "" {
		s.parts = append(s.parts, part)
	}
	s.pos = m.next
	s.at.advance(&s.layout, s.pos)
	switch {
	case m.fence == nil:
		s.lead = s.tableHead()
	case m.midLine:
		s.lead = m.fence.reopen + "\n" + m.fence.quote
	default:
		s.lead = m.fence.reopen + "\n"
	}
}

// tail returns what closes a part that ends at the seam. A fence that is still open at the end of
// the text was left open by its author.
func (m seam) tail(text string) string {
	if m.fence == nil || m.next == len(text) {
		return ""
	}
	return m.fence.shut
}

// tableHead returns the head to be repeated before the row at pos, if there is room for both.
func (s *splitter) tableHead() string {
	if s.at.table == len(s.tables) {
		return ""
	}
	t := s.tables[s.at.table]
	if s.pos < t.rows || s.pos >= t.end || s.text[s.pos-1] != '\n' {
		return ""
	}
	head := s.measure(t.head)
	if head > s.max/2 || head+s.measure(s.text[s.pos:lineEnd(s.text, s.pos)]) > s.max {
		return ""
	}
	return t.head
}
