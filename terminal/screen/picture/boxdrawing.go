package picture

import (
	"image"
	"math"
)

// The weights of a line.
const (
	none = iota
	light
	heavy
	double
)

// arms are the weights of the arms to the left, right, up and down for U+2500 and the following
// characters; 0000 for those that are drawn in another way.
const arms = "" +
	"1100 2200 0011 0022 0000 0000 0000 0000 " + // U+2500
	"0000 0000 0000 0000 0101 0201 0102 0202 " + // U+2508
	"1001 2001 1002 2002 0110 0210 0120 0220 " + // U+2510
	"1010 2010 1020 2020 0111 0211 0121 0112 " + // U+2518
	"0122 0221 0212 0222 1011 2011 1021 1012 " + // U+2520
	"1022 2021 2012 2022 1101 2101 1201 2201 " + // U+2528
	"1102 2102 1202 2202 1110 2110 1210 2210 " + // U+2530
	"1120 2120 1220 2220 1111 2111 1211 2211 " + // U+2538
	"1121 1112 1122 2121 1221 2112 1212 2221 " + // U+2540
	"2212 2122 1222 2222 0000 0000 0000 0000 " + // U+2548
	"3300 0033 0301 0103 0303 3001 1003 3003 " + // U+2550
	"0310 0130 0330 3010 1030 3030 0311 0133 " + // U+2558
	"0333 3011 1033 3033 3301 1103 3303 3310 " + // U+2560
	"1130 3330 3311 1133 3333 0000 0000 0000 " + // U+2568
	"0000 0000 0000 0000 1000 0010 0100 0001 " + // U+2570
	"2000 0020 0200 0002 1200 0012 2100 0021 " // U+2578

// halfLine is half the thickness of a line by weight.
var halfLine = [...]int{none: 0, light: 1, heavy: 2, double: 1}

// The two lines of a double line have these distances from the middle.
const (
	doubleInner = 1
	doubleOuter = 3
)

// boxDrawing draws one of U+2500 to U+257F.
func (p *cellPainter) boxDrawing(r rune) {
	n := int(r - 0x2500)
	switch {
	case n >= 0x04 && n <= 0x0b: // three or four dashes
		p.dashes(3+(n-0x04)/4, n&2 != 0, light+n&1)
	case n >= 0x4c && n <= 0x4f: // two dashes
		p.dashes(2, n&2 != 0, light+n&1)
	case n >= 0x6d && n <= 0x70:
		p.arc(n)
	case n >= 0x71 && n <= 0x73:
		p.diagonals(n != 0x72, n != 0x71)
	default:
		var weight [4]int
		for i := range weight {
			weight[i] = int(arms[n*5+i] - '0')
		}
		p.cross(weight[0], weight[1], weight[2], weight[3])
	}
}

// cross draws the four arms of a character, each from its own perspective.
func (p *cellPainter) cross(left, right, up, down int) {
	across := arm{before: up, after: down}
	p.arm(across.withWeights(right, left, false))
	p.arm(across.withWeights(left, right, true))
	across = arm{before: left, after: right, vertical: true}
	p.arm(across.withWeights(down, up, false))
	p.arm(across.withWeights(up, down, true))
}

// arm is a line from the middle of the cell to one side: to the right, unless it is vertical or
// goes backwards. Before and after are the weights of the arms across it.
type arm struct {
	weight, opposite, before, after int
	vertical, backwards             bool
}

// withWeights returns an arm in the same direction, or backwards.
func (a arm) withWeights(weight, opposite int, backwards bool) arm {
	a.weight, a.opposite, a.backwards = weight, opposite, backwards
	return a
}

// rect returns the rectangle that starts at start, measured along the arm from the middle, and
// spans from and to across it.
func (a arm) rect(start, from, to int) image.Rectangle {
	end := cellHeight // beyond the cell
	if a.backwards {
		start, end = -end, -start
	}
	r := image.Rect(start, from, end, to)
	if a.vertical {
		r = image.Rect(from, start, to, end)
	}
	return r.Add(image.Pt(cellWidth/2, cellHeight/2))
}

func (p *cellPainter) arm(a arm) {
	fill := func(start, from, to int) {
		r := a.rect(start, from, to)
		p.rect(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
	}
	switch a.weight {
	case none:
	case double:
		fill(railStart(a.before, a.after), -doubleOuter, -doubleInner)
		fill(railStart(a.after, a.before), doubleInner, doubleOuter)
	default:
		half := halfLine[a.weight]
		fill(a.start(), -half, half)
	}
}

// start returns the start of a single line: it fills the corner with the lines across it, and does
// not cross a double line that it only touches.
func (a arm) start() int {
	switch {
	case a.before == double && a.after == double && a.opposite == none:
		return doubleInner
	case a.opposite == none && (a.before == double || a.after == double):
		return -doubleOuter
	}
	return -max(halfLine[a.before], halfLine[a.after])
}

// railStart returns the start of one line of a double line. near is the weight of the arm across on
// the same side, far that on the other side.
func railStart(near, far int) int {
	switch {
	case near == double:
		return doubleInner
	case near == none && far == double:
		return -doubleOuter
	}
	return -max(halfLine[near], halfLine[far])
}

// dashes draws n dashes from side to side.
func (p *cellPainter) dashes(n int, vertical bool, weight int) {
	side := cellWidth
	if vertical {
		side = cellHeight
	}
	half := halfLine[weight]
	for i := range n {
		from, to := side*i/n, side*(i+1)/n-max(1, side/n/3)
		if vertical {
			p.rect(cellWidth/2-half, from, cellWidth/2+half, to)
		} else {
			p.rect(from, cellHeight/2-half, to, cellHeight/2+half)
		}
	}
}

// arc draws a rounded corner: U+256D to U+2570 have arms down and right, down and left, up and
// left, up and right.
func (p *cellPainter) arc(n int) {
	const radius = cellWidth / 2
	right, down := n == 0x6d || n == 0x70, n <= 0x6e
	p.blendCell(func(x, y float64) float64 {
		if !right {
			x = cellWidth - x
		}
		if !down {
			y = cellHeight - y
		}
		// The centre of the circle is on the right edge, a radius below the middle.
		dx, dy := x-cellWidth, y-(cellHeight/2+radius)
		if dy > 0 {
			return 1.5 - math.Abs(x-cellWidth/2)
		}
		return 1.5 - math.Abs(math.Hypot(dx, dy)-radius)
	})
}

// diagonals draws U+2571 (rising), U+2572 (falling) or both.
func (p *cellPainter) diagonals(rising, falling bool) {
	const w, h = cellWidth, cellHeight
	length := math.Hypot(w, h)
	p.blendCell(func(x, y float64) float64 {
		var a float64
		if falling {
			a = max(a, 1.3-math.Abs(h*x-w*y)/length)
		}
		if rising {
			a = max(a, 1.3-math.Abs(h*(w-x)-w*y)/length)
		}
		return a
	})
}
