package screen

import "unicode/utf8"

// maxCluster limits a character with its combining marks, in bytes, as tmux does.
const maxCluster = 32

// minClusters is the number of clusters below which unused ones are not dropped.
const minClusters = 1024

// clusters are the characters with combining marks. Cells refer to them by index. Entries never
// change; unused ones are dropped when there are too many.
type clusters struct {
	texts []string
	limit int
}

func (c *clusters) text(r rune) string { return c.texts[r-clusterBase] }

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
		return append(text, c.text(r)...)
	}
	return utf8.AppendRune(text, r)
}

// combine adds a combining mark to the character before the cursor.
func (s *Screen) combine(mark rune) {
	s.addMark(s.grid.rows[s.cursor.row], s.cursor.col, mark)
}

// addMark adds a combining mark to the character that ends before col. If there is none, or if it
// has too many marks already, the mark is dropped.
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
	if len(s.clusters.texts) >= max(s.clusters.limit, minClusters) {
		s.dropClusters()
	}
	s.clusters.texts = append(s.clusters.texts, string(utf8.AppendRune(text, mark)))
	r.cells[col].rune = clusterBase + rune(len(s.clusters.texts)-1)
	r.used, r.styled = max(r.used, col+1), true
}

// dropClusters removes the clusters that no cell uses. The limit then allows as many again, which
// spreads the cost of the search over at least as many additions.
func (s *Screen) dropClusters() {
	old := s.clusters.texts
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
	s.clusters.texts = live
	s.clusters.limit = 2 * len(live)
}
