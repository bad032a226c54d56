package channels

// atom returns the end of what starts at p and must not be cut, and whether it is white space. It
// moves the cursor behind the spans it passes. A word needs no place to be cut as long as it fits
// room.
func (s *splitter) atom(p, room int, c *cursor) (q int, blank bool) {
	if s.giant.start <= p && p < s.giant.end {
		return runeEnd(s.text, p), false
	}
	c.advance(&s.layout, p)
	inFence := s.inFence(p, c)
	if inFence {
		room -= len(s.fences[c.fence].shut)
	}
	if q = wordEnd(s.text, p, min(p+room, s.nextSpan(p, c))); q > p {
		return q, false
	}
	if !inFence {
		if q = s.spaceEnd(p, c); q > p {
			return q, true
		}
	}
	most := s.max
	if inFence {
		most /= 2 // the lines of the fence may take the other half
	}
	q = clusterEnd(s.text, p)
	if whole := s.wholeEnd(q, c); whole > q && s.fits(p, whole, most) {
		return whole, false
	}
	if !s.fits(p, q, most) {
		s.giant = span{p, q}
		return runeEnd(s.text, p), false
	}
	return q, false
}

// wholeEnd returns the end of what must stay whole and starts before q. Marks that combine with its
// last character belong to it, and may make it too long.
func (s *splitter) wholeEnd(q int, c *cursor) int {
	for c.span < len(s.spans) && s.spans[c.span].start < q {
		for q < s.spans[c.span].end {
			q = clusterEnd(s.text, q)
		}
		c.span++
	}
	return q
}

func (s *splitter) fits(p, q, most int) bool {
	return q-p <= most || s.measure(s.text[p:q]) <= most
}

// seamAt describes the seam behind the atom that ends at q. It is false where no part may end.
func (s *splitter) seamAt(q int, c *cursor) (seam, bool) {
	c.advance(&s.layout, q)
	m, ok := seam{}, true
	if s.inFence(q, c) {
		m, ok = s.fences[c.fence].seamAt(s.text, q)
	} else {
		m = s.proseSeam(q, c)
	}
	if s.giant.start < q && q < s.giant.end {
		m.level = poor
	}
	return m, ok
}

// spaceEnd returns where the white space at p ends. What must stay whole may start with some.
func (s *splitter) spaceEnd(p int, c *cursor) int {
	return spaceEnd(s.text, p, s.nextSpan(p, c))
}

// nextSpan returns where the next stretch that must stay whole starts, at p or behind it.
func (s *splitter) nextSpan(p int, c *cursor) int {
	if c.span < len(s.spans) {
		return max(p, s.spans[c.span].start)
	}
	return len(s.text)
}

// inFence tells whether p lies inside the fence at the cursor, neither before nor behind it.
func (s *splitter) inFence(p int, c *cursor) bool {
	return c.fence < len(s.fences) && s.fences[c.fence].start < p && p < s.fences[c.fence].end
}

// advance moves the cursor to p.
func (c *cursor) advance(l *layout, p int) {
	for c.span < len(l.spans) && l.spans[c.span].start < p {
		c.span++
	}
	for c.fence < len(l.fences) && l.fences[c.fence].end < p {
		c.fence++
	}
	for c.table < len(l.tables) && l.tables[c.table].end < p {
		c.table++
	}
}
