package channels

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// Screen is what a terminal shows. Nobody changes it once it is part of a message. A channel may
// store it as JSON, whose names are short because a screen has thousands of runs at worst.
type Screen struct {
	Cols int `json:"cols"`
	// Rows are from top to bottom. Where the cursor is visible its cell is a run of its own.
	Rows [][]ScreenRun `json:"rows"`
	// Cursor is where the cursor is; nil: it is not visible.
	Cursor *ScreenCell `json:"cursor,omitempty"`
}

// ScreenCell is a place on a screen, counted from 0.
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

// lines returns the text of each row up to the last that is not blank. What is hidden takes its
// columns and is not shown.
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

// ViewOptions is the room that a message has for the rows of a screen.
type ViewOptions struct {
	Limit   int // of the rows together, with the line breaks between them
	Measure Measure
	// Escape changes a row so that the channel shows it as it is; nil: nothing need be changed.
	Escape func(row string) string
}

// ScreenView is as much of a screen as there is room for.
type ScreenView struct {
	Text         string // rows
	Above, Below int    // how many rows were left out
}

// blankScreen is what is shown of a screen without any text: networks refuse blank messages.
const blankScreen = "(the screen is blank)"

// View returns the rows of the screen that there is room for: the last ones, or those around the
// cursor if it would not be among them. A row that is too long even alone is cut.
func (s *Screen) View(room ViewOptions) ScreenView {
	lines := s.lines()
	if len(lines) == 0 {
		return ScreenView{Text: blankScreen}
	}
	sizes := make([]int, len(lines))
	for i, line := range lines {
		if room.Escape != nil {
			lines[i] = room.Escape(line)
		}
		sizes[i] = room.Measure(lines[i]) + 1 // the line break
	}
	w := rowWindow{sizes: sizes, left: room.Limit + 1, from: len(lines), to: len(lines)}
	for w.growUp() {
	}
	if c := s.Cursor; c != nil && c.Row < w.from {
		w = rowWindow{sizes: sizes, left: room.Limit + 1, from: c.Row, to: c.Row}
		for grown := w.growDown(); grown; {
			up := w.growUp()
			grown = w.growDown() || up
		}
	}
	if w.from == w.to { // not even one row fits
		at := min(w.from, len(lines)-1)
		w.from, w.to = at, at+1
		lines[at] = cutRow(lines[at], room)
	}
	return ScreenView{Text: strings.Join(lines[w.from:w.to], "\n"), Above: w.from, Below: len(lines) - w.to}
}

// rowWindow is a window of rows that grows while there is room.
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

// cutRow returns the beginning of a row, whole characters only.
func cutRow(row string, room ViewOptions) string {
	left := room.Limit - room.Measure("…")
	for g := uniseg.NewGraphemes(row); g.Next(); {
		if left -= room.Measure(g.Str()); left < 0 {
			from, _ := g.Positions()
			return row[:from] + "…"
		}
	}
	return row
}

// MaxViewNotes is what the notes about rows that were left out measure at most, with their line
// breaks.
const MaxViewNotes = 2 * len("\n… 99999 rows below")

// NoteAbove says how many rows above were left out; "" if none.
func (v ScreenView) NoteAbove() string { return omittedRows(v.Above, "above") }

// NoteBelow says how many rows below were left out; "" if none.
func (v ScreenView) NoteBelow() string { return omittedRows(v.Below, "below") }

func omittedRows(n int, where string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "… 1 row " + where
	}
	return fmt.Sprintf("… %d rows %s", n, where)
}

// Fenced returns the screen as a block of code in Markdown below a caption, whole.
func (s *Screen) Fenced(caption string) string {
	rows := s.View(ViewOptions{Limit: 1 << 30, Measure: func(text string) int { return len(text) }}).Text
	fence := "```"
	for strings.Contains(rows, fence) {
		fence += "`"
	}
	return strings.TrimLeft(strings.TrimSpace(caption)+"\n\n"+fence+"\n"+rows+"\n"+fence, "\n")
}

// steady returns the screen without the characters that turn the direction of writing: they take no
// column, so that the others stay in theirs.
func (s *Screen) stripBidi() *Screen {
	if s == nil {
		return nil
	}
	turns := false
	for _, row := range s.Rows {
		for _, run := range row {
			turns = turns || StripBidi(run.Text) != run.Text
		}
	}
	if !turns {
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
