package screen

import (
	"unicode"

	"golang.org/x/text/width"
)

// Width returns the columns of a character: 2 if it is wide, 0 if it combines with the character
// before it or is invisible, else 1.
func Width(r rune) int {
	if w, ok := commonWidth(r); ok {
		return w
	}
	switch {
	case r == unicode.ReplacementChar:
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

// commonWidth returns the width of the most frequent characters. A lookup in Unicode's tables takes
// longer than printing the character.
func commonWidth(r rune) (width int, ok bool) {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return 0, true
	case r < 0x300, r >= 0x370 && r <= 0x482: // Latin, Greek, Cyrillic
		return 1, true
	case r >= 0x2010 && r <= 0x2027, r >= 0x2500 && r <= 0x25fc: // punctuation, box drawing, shapes
		return 1, true
	case r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3: // Han, Hangul
		return 2, true
	case r >= 0x3041 && r <= 0x3096, r >= 0x309b && r <= 0x30ff: // Hiragana, Katakana
		return 2, true
	}
	return 0, false
}

// isCombining reports whether a character of width 0 is stored with the character before it. Format
// characters, such as those for the writing direction, are dropped, because a screen has fixed
// columns.
func isCombining(r rune) bool {
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

// widthCache caches the widths of less frequent characters.
type widthCache [256]struct {
	rune  rune
	width int8
}

func (c *widthCache) width(r rune) int {
	if w, ok := commonWidth(r); ok {
		return w
	}
	e := &c[uint32(r)%uint32(len(c))]
	if e.rune != r {
		e.rune, e.width = r, int8(Width(r))
	}
	return int(e.width)
}
