package screen

// Color is the default colour (the zero value), one of the 256 palette colours, or a 24-bit colour.
type Color uint32

const (
	paletteColor Color = 1 << 24
	rgbColor     Color = 2 << 24
)

// Palette returns a colour of xterm's palette of 256.
func Palette(n uint8) Color { return paletteColor | Color(n) }

// TrueColor returns a 24-bit colour.
func TrueColor(r, g, b uint8) Color {
	return rgbColor | Color(r)<<16 | Color(g)<<8 | Color(b)
}

// RGB returns the components of the colour. ok is false for the default colour.
func (c Color) RGB() (r, g, b uint8, ok bool) {
	switch {
	case c == 0:
		return 0, 0, 0, false
	case c&rgbColor != 0:
		return uint8(c >> 16), uint8(c >> 8), uint8(c), true
	}
	n := int(c & 0xff)
	if n < 16 {
		base := ansi[n]
		return base[0], base[1], base[2], true
	}
	if n >= 232 { // 24 shades of grey
		level := uint8(8 + 10*(n-232))
		return level, level, level, true
	}
	n -= 16 // a cube of 6×6×6
	return cubeLevel(n / 36), cubeLevel(n / 6 % 6), cubeLevel(n % 6), true
}

func cubeLevel(n int) uint8 {
	if n == 0 {
		return 0
	}
	return uint8(55 + 40*n)
}

// ansi are xterm's defaults for the first 16 colours.
var ansi = [16][3]uint8{
	{0, 0, 0},
	{205, 0, 0},
	{0, 205, 0},
	{205, 205, 0},
	{0, 0, 238},
	{205, 0, 205},
	{0, 205, 205},
	{229, 229, 229},
	{127, 127, 127},
	{255, 0, 0},
	{0, 255, 0},
	{255, 255, 0},
	{92, 92, 255},
	{255, 0, 255},
	{0, 255, 255},
	{255, 255, 255},
}

// Style is the appearance of text.
type Style struct {
	Foreground, Background                                         Color
	Bold, Faint, Italic, Underline, Blink, Reverse, Hidden, Strike bool
}

// attributes are the boolean fields of a Style.
type attributes uint16

const (
	bold attributes = 1 << iota
	faint
	italic
	underline
	blink
	reverse
	hidden
	strike
)

// pen is a Style in 12 bytes.
type pen struct {
	foreground, background Color
	attributes             attributes
}

func (p pen) style() Style {
	has := func(a attributes) bool { return p.attributes&a != 0 }
	return Style{
		Foreground: p.foreground, Background: p.background,
		Bold: has(bold), Faint: has(faint), Italic: has(italic), Underline: has(underline),
		Blink: has(blink), Reverse: has(reverse), Hidden: has(hidden), Strike: has(strike),
	}
}

// setStyle is SGR. Unknown parameters are skipped together with their subparameters.
func (s *Screen) setStyle(a *arguments) {
	for i := 0; i < a.count(); {
		n := a.get(i, 0)
		next := i + 1
		for next < a.count() && a.colon[next] {
			next++
		}
		switch n {
		case 38, 48, 58:
			color, after, ok := a.color(i, next)
			if ok && n == 38 {
				s.cursor.pen.foreground = color
			} else if ok && n == 48 {
				s.cursor.pen.background = color
			}
			next = after
		case 4:
			s.cursor.pen.attributes |= underline
			if next > i+1 && a.get(i+1, 1) == 0 { // 4:0 is no underline, 4:1 to 4:5 are its kinds
				s.cursor.pen.attributes &^= underline
			}
		default:
			s.cursor.pen.applySGR(n)
		}
		i = next
	}
}

// resetAttributes are the attributes that the parameters 22 to 29 reset.
var resetAttributes = [...]attributes{
	bold | faint, italic, underline, blink, 0, reverse, hidden, strike,
}

// applySGR applies one SGR parameter.
func (p *pen) applySGR(n int) {
	switch {
	case n == 0:
		*p = pen{}
	case n == 1:
		p.attributes |= bold
	case n == 2:
		p.attributes |= faint
	case n == 3:
		p.attributes |= italic
	case n == 5, n == 6:
		p.attributes |= blink
	case n == 7:
		p.attributes |= reverse
	case n == 8:
		p.attributes |= hidden
	case n == 9:
		p.attributes |= strike
	case n == 21: // double
		p.attributes |= underline
	case n >= 22 && n <= 29:
		p.attributes &^= resetAttributes[n-22]
	case n >= 30 && n <= 37:
		p.foreground = Palette(uint8(n - 30))
	case n == 39:
		p.foreground = 0
	case n >= 40 && n <= 47:
		p.background = Palette(uint8(n - 40))
	case n == 49:
		p.background = 0
	case n >= 90 && n <= 97:
		p.foreground = Palette(uint8(n - 90 + 8))
	case n >= 100 && n <= 107:
		p.background = Palette(uint8(n - 100 + 8))
	}
}

// color parses the colour after parameter i, which is 38, 48 or 58: either in the subparameters up
// to next (38:5:n, 38:2:r:g:b, 38:2:space:r:g:b) or in the following parameters.
func (a *arguments) color(i, next int) (c Color, after int, ok bool) {
	if next > i+1 {
		c, ok = a.subColor(i+1, next)
		return c, next, ok
	}
	switch a.get(i+1, 0) {
	case 5:
		c, ok = paletteColorOf(a.get(i+2, 0))
		return c, i + 3, ok
	case 2:
		c, ok = rgbColorOf(a.get(i+2, 0), a.get(i+3, 0), a.get(i+4, 0))
		return c, i + 5, ok
	}
	return 0, i + 1, false
}

func (a *arguments) subColor(from, to int) (Color, bool) {
	switch {
	case a.get(from, 0) == 5 && to >= from+2:
		return paletteColorOf(a.get(from+1, 0))
	case a.get(from, 0) == 2 && to >= from+5: // with a colour space, which is ignored
		return rgbColorOf(a.get(from+2, 0), a.get(from+3, 0), a.get(from+4, 0))
	case a.get(from, 0) == 2 && to == from+4:
		return rgbColorOf(a.get(from+1, 0), a.get(from+2, 0), a.get(from+3, 0))
	}
	return 0, false
}

func paletteColorOf(n int) (Color, bool) { return Palette(uint8(n & 0xff)), n <= 255 }

func rgbColorOf(r, g, b int) (Color, bool) {
	return TrueColor(uint8(r&0xff), uint8(g&0xff), uint8(b&0xff)), max(r, g, b) <= 255
}
