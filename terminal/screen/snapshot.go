package screen

import "bytes"

// Snapshot is a copy of the visible screen. It never changes and can be shared by goroutines.
type Snapshot struct {
	Cols, Rows           int
	Lines                [][]Run // one per row; the widths of each row add up to Cols
	CursorCol, CursorRow int
	CursorVisible        bool
}

// Run is a part of a line in one style. Blank columns are spaces, and a wide character counts as
// two columns. The character at a visible cursor is a separate run.
type Run struct {
	Text  string
	Width int
	Style Style
}

// Snapshot returns a copy of the visible screen.
func (s *Screen) Snapshot() *Snapshot {
	n := &Snapshot{Cols: s.cols, Rows: s.rows, Lines: make([][]Run, s.rows)}
	// A cursor that is pending after the last column is shown in the last column.
	n.CursorCol, n.CursorRow, n.CursorVisible = min(s.cursor.col, s.cols-1), s.cursor.row, s.modes.cursorVisible
	var text []byte
	for i, r := range s.grid.rows {
		cursor, behind := -1, -1
		if n.CursorVisible && i == n.CursorRow {
			cursor, behind = r.characterBounds(n.CursorCol)
		}
		from := 0
		for from < s.cols {
			text = text[:0]
			to := from
			for ; to < s.cols && r.cells[to].pen == r.cells[from].pen; to++ {
				if to > from && (to == cursor || to == behind) {
					break
				}
				text = s.clusters.appendCell(text, r.cells[to].rune)
			}
			run := Run{Text: string(text), Width: to - from, Style: r.cells[from].pen.style()}
			n.Lines[i] = append(n.Lines[i], run)
			from = to
		}
	}
	return n
}

// characterBounds returns the first column of the character at col, and the column after it.
func (r *row) characterBounds(col int) (from, to int) {
	from, to = col, col+1
	for from > 0 && r.cells[from].rune == wideTail {
		from--
	}
	for to < len(r.cells) && r.cells[to].rune == wideTail {
		to++
	}
	return from, to
}

// Text returns the visible rows without trailing blanks and without empty lines at the end.
func (s *Screen) Text() string { return trimEmptyLines(s.appendText(nil)) }

// Buffer returns the scrollback and the visible rows, in the form of Text.
func (s *Screen) Buffer() string {
	return trimEmptyLines(s.appendText(s.history.appendText(nil)))
}

func (s *Screen) appendText(text []byte) []byte {
	for _, r := range s.grid.rows {
		start := len(text)
		for _, c := range r.cells[:r.used] {
			text = s.clusters.appendCell(text, c.rune)
		}
		text = append(text[:start], bytes.TrimRight(text[start:], " ")...)
		text = append(text, '\n')
	}
	return text
}

func trimEmptyLines(text []byte) string { return string(bytes.TrimRight(text, "\n")) }
