package picture

import (
	"image"
	"image/color"
	"math"
)

// cellPainter draws, into the box of a cell, the characters that must join their neighbours without
// gaps or that the font lacks.
type cellPainter struct {
	image *image.RGBA
	box   image.Rectangle
	color color.RGBA
}

// drawShape draws box drawing characters, blocks, Braille and the scan lines of DEC terminals. It
// reports false for other characters.
func (p *cellPainter) drawShape(r rune) bool {
	switch {
	case r >= 0x2500 && r <= 0x257f:
		p.boxDrawing(r)
	case r >= 0x2580 && r <= 0x259f:
		p.block(int(r - 0x2580))
	case r >= 0x2800 && r <= 0x28ff:
		p.braille(int(r - 0x2800))
	case r >= 0x23ba && r <= 0x23bd:
		y := []int{0, 5, 13, 18}[r-0x23ba]
		p.rect(0, y, cellWidth, y+2)
	default:
		return false
	}
	return true
}

// rect fills a rectangle in the cell's coordinates.
func (p *cellPainter) rect(x0, y0, x1, y1 int) {
	r := image.Rect(x0, y0, x1, y1).Add(p.box.Min).Intersect(p.box)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			p.image.SetRGBA(x, y, p.color)
		}
	}
}

// blendCell blends every pixel of the cell with the coverage, from 0 to 1, that f returns for its
// centre.
func (p *cellPainter) blendCell(f func(x, y float64) float64) {
	for y := range cellHeight {
		for x := range cellWidth {
			a := min(max(f(float64(x)+0.5, float64(y)+0.5), 0), 1)
			if a > 0 {
				p.blend(p.box.Min.X+x, p.box.Min.Y+y, a)
			}
		}
	}
}

func (p *cellPainter) blend(x, y int, a float64) {
	old := p.image.RGBAAt(x, y)
	mix := func(from, to uint8) uint8 {
		return uint8(math.Round(float64(from)*(1-a) + float64(to)*a))
	}
	r, g, b := mix(old.R, p.color.R), mix(old.G, p.color.G), mix(old.B, p.color.B)
	p.image.SetRGBA(x, y, color.RGBA{r, g, b, 0xff})
}

// hollowBox draws the placeholder for a missing character.
func (p *cellPainter) hollowBox() {
	left, right := 2, p.box.Dx()-2
	const top, bottom = 5, baseline
	p.rect(left, top, right, top+1)
	p.rect(left, bottom-1, right, bottom)
	p.rect(left, top, left+1, bottom)
	p.rect(right-1, top, right, bottom)
}

// block draws U+2580 + n.
func (p *cellPainter) block(n int) {
	const w, h = cellWidth, cellHeight
	switch {
	case n == 0x00:
		p.rect(0, 0, w, h/2)
	case n <= 0x08: // lower eighths
		p.rect(0, h-eighths(h, n), w, h)
	case n <= 0x0f: // left eighths, from seven down to one
		p.rect(0, 0, eighths(w, 0x10-n), h)
	case n == 0x10:
		p.rect(w/2, 0, w, h)
	case n <= 0x13: // shades
		p.blendCell(func(_, _ float64) float64 { return float64(n-0x10) / 4 })
	case n == 0x14:
		p.rect(0, 0, w, eighths(h, 1))
	case n == 0x15:
		p.rect(w-eighths(w, 1), 0, w, h)
	default:
		p.quadrants(n - 0x16)
	}
}

func eighths(side, n int) int { return (side*n + 4) / 8 }

// quadrants draws U+2596 + n. The bits are upper left, upper right, lower left, lower right.
func (p *cellPainter) quadrants(n int) {
	const w, h = cellWidth / 2, cellHeight / 2
	set := [...]int{4, 8, 1, 1 | 4 | 8, 1 | 8, 1 | 2 | 4, 1 | 2 | 8, 2, 2 | 4, 2 | 4 | 8}[n]
	for i := range 4 {
		if set&(1<<i) != 0 {
			x, y := i%2*w, i/2*h
			p.rect(x, y, x+w, y+h)
		}
	}
}

// braille draws the dots of U+2800 + n.
func (p *cellPainter) braille(n int) {
	dots := [8]image.Point{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}
	for i, at := range dots {
		if n&(1<<i) != 0 {
			x, y := 2+at.X*5, 2+at.Y*5
			p.rect(x, y, x+2, y+2)
		}
	}
}
