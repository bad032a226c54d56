package process_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/terminal/process"
)

func TestBoundedKeepsTheBeginningAndTheEnd(t *testing.T) {
	for _, tc := range []struct {
		head, tail int
		writes     []string
		want       string
	}{
		{4, 4, nil, ""},
		{4, 4, []string{"abc"}, "abc"},
		{4, 4, []string{"abcdefgh"}, "abcdefgh"},
		{4, 4, []string{"abcdefghi"}, "abcd\n[… 1 bytes left out …]\nfghi"},
		{4, 4, []string{"ab", "cdef", "ghij", "klm"}, "abcd\n[… 5 bytes left out …]\njklm"},
		{0, 3, []string{"abc", "de"}, "[… 2 bytes left out …]\ncde"},
		{0, 3, []string{strings.Repeat("x", 1000) + "end"}, "[… 1000 bytes left out …]\nend"},
		{3, 4, []string{"aéé" + "bcé" + "é"}, "aé\n[… 4 bytes left out …]\néé"},
		{2, 3, []string{"aéé" + "bcé" + "é"}, "a\n[… 8 bytes left out …]\né"},
	} {
		b := process.NewBounded(tc.head, tc.tail)
		for _, w := range tc.writes {
			fmt.Fprint(b, w)
		}
		if got := b.String(); got != tc.want {
			t.Errorf("%d+%d of %q: got %q, want %q", tc.head, tc.tail, tc.writes, got, tc.want)
		}
	}
}

func TestBoundedEqualsAReferenceImplementation(t *testing.T) {
	for head := range 5 {
		for tail := range 6 {
			for size := 1; size < 9; size++ {
				b, all := process.NewBounded(head, tail), ""
				for i := range 12 {
					w := strings.Repeat(string(rune('a'+i)), (i*size)%7)
					all += w
					fmt.Fprint(b, w)
				}
				want := all
				if cut := len(all) - head - tail; cut > 0 {
					want = fmt.Sprintf("[… %d bytes left out …]\n%s", cut, all[len(all)-tail:])
					if head > 0 {
						want = all[:head] + "\n" + want
					}
				}
				if got := b.String(); got != want {
					t.Fatalf("%d+%d: got %q, want %q", head, tail, got, want)
				}
			}
		}
	}
}
