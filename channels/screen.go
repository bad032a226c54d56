package channels

import (
	"strings"

	"github.com/rivo/uniseg"

	"nanobot/internal/words"
)

// Screen is the content of a terminal screen. It must not be changed once it is part of a message.
// A channel may store it as JSON; the names are short because a screen can have thousands of runs.
type Screen struct {
	Cols int `json:"cols"`
	// Rows are from top to bottom. The cell of a visible cursor is a run of its own.
	Rows [][]ScreenRun `json:"rows"`
	// Cursor is the position of the cursor; nil means that it is not visible.
	Cursor *ScreenCell `json:"cursor,omitempty"`
}

// ScreenCell is a position on a screen, counted from 0.
type ScreenCell struct {
	Col int `json:"col"`
	Row int `json:"row"`
}

// ScreenRun is a part of a row in one style. A wide character takes two columns of Width.
type ScreenRun struct {
	Text       string `json:"t"`
	Width      int    `json:"w"`
	Foreground Color  `json:"f,omitempty"`
	Background Color  `json:"b,omitempty"`
	Bold       bool   `json:"bold,omitempty"`
	Faint      bool   `json:"faint,omitempty"`
	Italic     bool   `json:"italic,omitempty"`
	Underline  bool   `json:"underline,omitempty"`
	Blink      bool   `json:"blink,omitempty"`
	Reverse    bool   `json:"reverse,omitempty"`
	Hidden     bool   `json:"hidden,omitempty"`
	Strike     bool   `json:"strike,omitempty"`
}

// Color is 24-bit RGB, or the terminal's default colour, which is the zero value.
type Color uint32

const rgbFlag Color = 1 << 24

// RGB returns a colour.
func RGB(r, g, b uint8) Color { return rgbFlag | Color(r)<<16 | Color(g)<<8 | Color(b) }

// RGB returns the colour as 0xRRGGBB. ok is false for the default colour.
func (c Color) RGB() (rgb uint32, ok bool) { return uint32(c &^ rgbFlag), c&rgbFlag != 0 }

// Text returns the rows without trailing blanks and without empty rows at the end.
func (s *Screen) Text() string { return strings.Join(s.lines(), "\n") }

// lines returns the text of each row up to the last that is not blank. Hidden text is replaced by
// blanks.
func (s *Screen) lines() []string {
	lines := make([]string, len(s.Rows))
	last := 0
	var b strings.Builder
	for i, row := range s.Rows {
		b.Reset()
		for _, run := range row {
			if run.Hidden {
				b.WriteString(strings.Repeat(" ", run.Width))
			} else {
				b.WriteString(run.Text)
			}
		}
		if lines[i] = strings.TrimRight(b.String(), " "); lines[i] != "" {
			last = i + 1
		}
	}
	return lines[:last]
}

// ViewOptions are the limits of a message that shows a screen.
type ViewOptions struct {
	Limit   int // for all rows together, with the line breaks between them
	Measure Measure
	// Escape changes a row so that the channel shows it literally; nil means that no row needs it.
	Escape func(row string) string
	Words  words.Words
}

// ScreenView is the part of a screen that fits into a message.
type ScreenView struct {
	Text         string // rows
	Above, Below int    // numbers of omitted rows
	words        words.Words
}

// View returns the rows of the screen that fit: the last ones, or those around the cursor if the
// last ones would not include it. If not all fit, long rows are cut to the columns around the
// cursor. A row that does not fit by itself is cut.
func (s *Screen) View(o ViewOptions) ScreenView {
	lines := s.lines()
	if o.Measure(strings.Join(lines, "\n")) > o.Limit {
		lines = s.cutColumns(lines)
	}
	if len(lines) == 0 {
		return ScreenView{Text: o.Words.Text(words.ScreenBlank)} // networks refuse blank messages
	}
	sizes := make([]int, len(lines))
	for i, line := range lines {
		if o.Escape != nil {
			lines[i] = o.Escape(line)
		}
		sizes[i] = o.Measure(lines[i]) + 1 // the line break
	}
	w := rowWindow{sizes: sizes, left: o.Limit + 1, from: len(lines), to: len(lines)}
	for w.growUp() {
	}
	if c := s.Cursor; c != nil && c.Row < w.from {
		w = rowWindow{sizes: sizes, left: o.Limit + 1, from: c.Row, to: c.Row}
		for grown := w.growDown(); grown; {
			up := w.growUp()
			grown = w.growDown() || up
		}
	}
	if w.from == w.to { // not even one row fits
		at := min(w.from, len(lines)-1)
		w.from, w.to = at, at+1
		lines[at] = cutRow(lines[at], o)
	}
	return ScreenView{
		Text: strings.Join(lines[w.from:w.to], "\n"), Above: w.from, Below: len(lines) - w.to,
		words: o.Words,
	}
}

// viewColumns is how many columns are shown of a screen that does not fit: those of a terminal for
// people, since a phone breaks longer rows into several.
const viewColumns = 80

// cutColumns returns the columns of the rows around the cursor, or the first ones if these include
// it, with an ellipsis in place of what is cut.
func (s *Screen) cutColumns(lines []string) []string {
	from, widest := 0, 0
	for _, line := range lines {
		widest = max(widest, uniseg.StringWidth(line))
	}
	if c := s.Cursor; c != nil && c.Col >= viewColumns {
		from = min(c.Col-viewColumns/2, max(widest, c.Col+1)-viewColumns)
	}
	cut := make([]string, len(lines))
	for i, line := range lines {
		row, end := "", 0
		for g := uniseg.NewGraphemes(line); end <= from+viewColumns && g.Next(); {
			switch end += g.Width(); {
			case end-g.Width() < from:
				row = "…" + strings.Repeat(" ", max(end-from, 0)) // in place of half a wide character
			case end > from+viewColumns:
				row += "…"
			default:
				row += g.Str()
			}
		}
		cut[i] = strings.TrimRight(row, " ")
	}
	return cut
}

// rowWindow is a window of rows that grows while more rows fit.
type rowWindow struct {
	sizes    []int
	left     int
	from, to int
}

func (w *rowWindow) growUp() bool {
	if w.from == 0 || w.sizes[w.from-1] > w.left {
		return false
	}
	w.from--
	w.left -= w.sizes[w.from]
	return true
}

func (w *rowWindow) growDown() bool {
	if w.to == len(w.sizes) || w.sizes[w.to] > w.left {
		return false
	}
	w.left -= w.sizes[w.to]
	w.to++
	return true
}

// cutRow returns the beginning of a row, in whole grapheme clusters.
func cutRow(row string, o ViewOptions) string {
	left := o.Limit - o.Measure("…")
	for g := uniseg.NewGraphemes(row); g.Next(); {
		if left -= o.Measure(g.Str()); left < 0 {
			from, _ := g.Positions()
			return row[:from] + "…"
		}
	}
	return row
}

// MaxViewNotes returns the greatest length of NoteAbove and NoteBelow together, with their line
// breaks.
func MaxViewNotes(w words.Words) int {
	const rows = 99999
	return len("\n" + w.Text(words.RowsAbove, rows) + "\n" + w.Text(words.RowsBelow, rows))
}

// NoteAbove returns a note about the rows omitted above, or "".
func (v ScreenView) NoteAbove() string { return v.omittedRows(v.Above, words.RowsAbove) }

// NoteBelow returns a note about the rows omitted below, or "".
func (v ScreenView) NoteBelow() string { return v.omittedRows(v.Below, words.RowsBelow) }

func (v ScreenView) omittedRows(n int, where words.Key) string {
	if n == 0 {
		return ""
	}
	return v.words.Text(where, n)
}

// Fenced returns the whole screen as a Markdown code block below a caption.
func (s *Screen) Fenced(caption string) string {
	rows := s.View(ViewOptions{Limit: 1 << 30, Measure: func(text string) int { return len(text) }}).Text
	fence := "```"
	for strings.Contains(rows, fence) {
		fence += "`"
	}
	return strings.TrimLeft(strings.TrimSpace(caption)+"\n\n"+fence+"\n"+rows+"\n"+fence, "\n")
}

// stripBidi returns the screen without bidi control characters. They take no column, so the other
// characters keep theirs.
func (s *Screen) stripBidi() *Screen {
	if s == nil {
		return nil
	}
	found := false
	for _, row := range s.Rows {
		for _, run := range row {
			found = found || StripBidi(run.Text) != run.Text
		}
	}
	if !found {
		return s
	}
	c := *s
	c.Rows = make([][]ScreenRun, len(s.Rows))
	for i, row := range s.Rows {
		c.Rows[i] = append([]ScreenRun(nil), row...)
		for j := range c.Rows[i] {
			c.Rows[i][j].Text = StripBidi(c.Rows[i][j].Text)
		}
	}
	return &c
}
