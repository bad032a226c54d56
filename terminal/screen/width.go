package screen

import (
	"unicode"

	"golang.org/x/text/width"
)

// Width returns how many columns a character takes: 2 if it is wide, 0 if it combines with the
// character before it or is invisible, else 1.
func Width(r rune) int {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return 0
	case r < 0x300, r == unicode.ReplacementChar:
		return 1
	case r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff:
		return 0 // Hangul vowels and finals, which join the initial before them
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Zl, unicode.Zp):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// combines reports whether a character of no width is kept. Format characters such as those that
// set the direction of writing are dropped: a screen has fixed columns.
func combines(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r == 0x200c, r == 0x200d: // joiners
		return true
	case r >= 0xe0020 && r <= 0xe007f: // the tags of flags
		return true
	}
	return !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// widthCache remembers the width of recent characters, because looking one up takes longer than
// printing it.
type widthCache [256]struct {
	rune  rune
	width int8
}

func (c *widthCache) width(r rune) int {
	e := &c[uint32(r)%uint32(len(c))]
	if e.rune != r {
		e.rune, e.width = r, int8(Width(r))
	}
	return int(e.width)
}
