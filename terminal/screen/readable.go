package screen

import (
	"math"
	"sync"
)

// minContrast is the contrast that WCAG 2 demands of text.
const minContrast = 4.5

// Ink returns the colour of the text. A dark colour of the palette on the default background or on
// black, such as blue, is made lighter so that it can be read; a program that sets another
// background, a 24-bit colour or the same colour for both gets what it wants.
func (s Style) Ink() Color {
	if !s.Background.isDark() || s.Foreground&paletteColor == 0 || s.Foreground == s.Background {
		return s.Foreground
	}
	return readable()[s.Foreground&0xff]
}

// isDark reports whether a background is the default one, or one of the two blacks of the palette.
func (c Color) isDark() bool { return c == 0 || c == Palette(0) || c == Palette(16) }

// readable returns the palette as text on the default background.
var readable = sync.OnceValue(func() (all [256]Color) {
	for i := range all {
		all[i] = lighten(Palette(uint8(i)))
	}
	return all
})

// lighten returns the colour mixed with as little white as the contrast needs.
func lighten(c Color) Color {
	const parts = 32
	r, g, b, _ := c.RGB()
	for white := 0; Contrast(c, DefaultBackground) < minContrast; white++ {
		mix := func(v uint8) uint8 { return v + uint8((255-int(v))*white/parts) }
		c = TrueColor(mix(r), mix(g), mix(b))
	}
	return c
}

// Contrast returns the contrast of two colours, from 1 to 21, as WCAG 2 defines it.
func Contrast(a, b Color) float64 {
	light, dark := luminance(a), luminance(b)
	return (max(light, dark) + 0.05) / (min(light, dark) + 0.05)
}

func luminance(c Color) float64 {
	linear := func(v uint8) float64 {
		if part := float64(v) / 255; part > 0.03928 {
			return math.Pow((part+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	r, g, b, _ := c.RGB()
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}
