package screen_test

import (
	"testing"
	"unicode"

	"golang.org/x/text/width"

	"nanobot/terminal/screen"
)

func TestWidthsAreThoseOfUnicode(t *testing.T) {
	for r := rune(0xa0); r <= 0xe0200; r++ {
		if r == 0x20100 {
			r = 0xe0000 // between them, planes are alike or unassigned
		}
		want := 1
		kind := width.LookupRune(r).Kind()
		switch {
		case r == 0xad: // the soft hyphen is shown
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Zl, unicode.Zp):
			want = 0
		case r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff:
			want = 0
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			want = 2
		}
		if got := screen.Width(r); got != want {
			t.Errorf("U+%04X takes %d columns, want %d", r, got, want)
		}
	}
}
