// Package picture draws a terminal screen as a PNG. It knows nothing of terminals, only of
// snapshots of their screens.
package picture

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"nanobot/terminal/screen"
)

const (
	cellWidth  = 10
	cellHeight = 20
	// MaxCells limits a picture to 16 million pixels, which take 64 MB while it is drawn.
	MaxCells = 80_000
)

// Encode writes the screen to w as a PNG. Characters that Go Mono lacks are drawn with the fonts in
// the given files, as far as these exist; missing are those that no font has. It fails if the
// screen has more than MaxCells cells, or if w fails.
func Encode(w io.Writer, s *screen.Snapshot, fonts []string) (missing []rune, err error) {
	if s.Cols*s.Rows > MaxCells {
		return nil, fmt.Errorf("draw screen: %d×%d characters are too many", s.Cols, s.Rows)
	}
	f, err := newFaces(fonts)
	if err != nil {
		return nil, fmt.Errorf("draw screen: %w", err)
	}
	defer f.fallback.close()
	c := &canvas{
		image: image.NewRGBA(image.Rect(0, 0, s.Cols*cellWidth, s.Rows*cellHeight)),
		faces: f,
	}
	for row, runs := range s.Lines {
		c.drawLine(s, row, runs)
	}
	if err := png.Encode(w, withPalette(c.image)); err != nil {
		return nil, fmt.Errorf("encode screen: %w", err)
	}
	return f.missing, nil
}

// canvas is the picture that is being drawn.
type canvas struct {
	image *image.RGBA
	faces *faces
}

// drawLine draws the characters of a row, each in its own columns.
func (c *canvas) drawLine(s *screen.Snapshot, row int, runs []screen.Run) {
	col := 0
	for _, run := range runs {
		for text := run.Text; text != ""; {
			r, n := utf8.DecodeRuneInString(text)
			width := max(screen.Width(r), 1)
			for n < len(text) { // combining marks
				mark, size := utf8.DecodeRuneInString(text[n:])
				if screen.Width(mark) > 0 {
					break
				}
				n += size
			}
			style := run.Style
			at := s.CursorCol - col
			if s.CursorVisible && row == s.CursorRow && at >= 0 && at < width {
				style.Reverse, style.Hidden = !style.Reverse, false
			}
			x, y := col*cellWidth, row*cellHeight
			c.drawCharacter(image.Rect(x, y, x+width*cellWidth, y+cellHeight), text[:n], style)
			text = text[n:]
			col += width
		}
	}
}

// drawCharacter draws a character with its combining marks.
func (c *canvas) drawCharacter(box image.Rectangle, text string, style screen.Style) {
	front, back := colors(style)
	c.fill(box, back)
	if style.Hidden {
		return
	}
	if len(text) > 1 {
		text = norm.NFC.String(text) // the font has composed characters, but no combining marks
	}
	r, size := utf8.DecodeRuneInString(text)
	p := cellPainter{image: c.image, box: box, color: front}
	if r != ' ' && !p.drawShape(r) {
		c.drawGlyph(box, r, style, front)
	}
	for _, mark := range text[size:] {
		if c.faces.hasGlyph(mark) { // a hollow box would only hide the character
			c.drawGlyph(box, mark, style, front)
		}
	}
	if style.Underline {
		c.fill(image.Rect(box.Min.X, box.Min.Y+baseline+2, box.Max.X, box.Min.Y+baseline+3), front)
	}
	if style.Strike {
		c.fill(image.Rect(box.Min.X, box.Min.Y+baseline-5, box.Max.X, box.Min.Y+baseline-4), front)
	}
}

// drawGlyph draws a glyph, or a hollow box if no font has the character.
func (c *canvas) drawGlyph(box image.Rectangle, r rune, style screen.Style, front color.RGBA) {
	mask := c.faces.glyph(r, style.Bold, style.Italic)
	if mask == nil {
		p := cellPainter{image: c.image, box: box, color: front}
		p.hollowBox()
		return
	}
	at := mask.Rect.Add(box.Min).Intersect(c.image.Rect)
	if !c.faces.hasGlyph(r) {
		at = at.Intersect(box) // other fonts may be wider
	}
	from := at.Min.Sub(box.Min)
	draw.DrawMask(c.image, at, image.NewUniform(front), image.Point{}, mask, from, draw.Over)
}

func (c *canvas) fill(r image.Rectangle, with color.RGBA) {
	draw.Draw(c.image, r, image.NewUniform(with), image.Point{}, draw.Src)
}

// colors returns the text and background colours of a style.
func colors(s screen.Style) (front, back color.RGBA) {
	front = rgba(s.Ink(), screen.DefaultForeground)
	back = rgba(s.Background, screen.DefaultBackground)
	if s.Reverse {
		front, back = back, front
	}
	if s.Faint {
		front = blendHalf(front, back)
	}
	return front, back
}

func rgba(c, other screen.Color) color.RGBA {
	r, g, b, ok := c.RGB()
	if !ok {
		r, g, b, _ = other.RGB()
	}
	return color.RGBA{r, g, b, 0xff}
}

func blendHalf(a, b color.RGBA) color.RGBA {
	half := func(x, y uint8) uint8 { return uint8((int(x) + int(y)) / 2) }
	return color.RGBA{half(a.R, b.R), half(a.G, b.G), half(a.B, b.B), 0xff}
}
