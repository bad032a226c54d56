package screen

import "unicode/utf8"

// maxCluster bounds a character with its combining marks, in bytes, as tmux does.
const maxCluster = 32

// minClusters is how many clusters there are at least before unused ones are dropped.
const minClusters = 1024

// clusters holds the characters that have combining marks. Cells refer to them by index, entries
// are never changed, and those that no cell uses any more are dropped when there are too many.
type clusters struct {
	text  []string
	limit int
}

func (c *clusters) at(r rune) string { return c.text[r-clusterBase] }

// appendCell appends the characters of a cell to text.
func (c *clusters) appendCell(text []byte, r rune) []byte {
	switch {
	case r == blankCell:
		return append(text, ' ')
	case r == wideTail:
		return text
	case r < utf8.RuneSelf:
		return append(text, byte(r))
	case r >= clusterBase:
		return append(text, c.at(r)...)
	}
	return utf8.AppendRune(text, r)
}

// combine adds a combining mark to the character before the cursor.
func (s *Screen) combine(mark rune) {
	s.addMark(s.grid.rows[s.cursor.row], s.cursor.col, mark)
}

// addMark adds a combining mark to the character that ends before col. Without one, or when the
// character has too many marks already, the mark is dropped.
func (s *Screen) addMark(r *row, col int, mark rune) {
	col--
	if col > 0 && r.cells[col].rune == wideTail {
		col--
	}
	if col < 0 {
		return
	}
	text := s.clusters.appendCell(make([]byte, 0, maxCluster), r.cells[col].rune)
	if len(text)+utf8.RuneLen(mark) > maxCluster {
		return
	}
	if len(s.clusters.text) >= max(s.clusters.limit, minClusters) {
		s.dropClusters()
	}
	s.clusters.text = append(s.clusters.text, string(utf8.AppendRune(text, mark)))
	r.cells[col].rune = clusterBase + rune(len(s.clusters.text)-1)
	r.used, r.rich = max(r.used, col+1), true
}

// dropClusters forgets the clusters that no cell uses. The limit leaves room for as many again, so
// the cost of the search is spread over at least as many additions.
func (s *Screen) dropClusters() {
	old := s.clusters.text
	var live []string
	for _, g := range []*grid{s.main, s.alternate} {
		if g == nil {
			continue
		}
		for _, r := range g.rows {
			for i := range r.cells[:r.used] {
				if c := &r.cells[i]; c.rune >= clusterBase {
					live = append(live, old[c.rune-clusterBase])
					c.rune = clusterBase + rune(len(live)-1)
				}
			}
		}
	}
	s.clusters.text = live
	s.clusters.limit = 2 * len(live)
}
