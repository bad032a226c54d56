package jobs

import (
	"testing"
	"unicode/utf8"

	"nanobot/internal/fuzztest"
)

// expectedTail computes the result of a tail from the whole output. It is simple and slow.
func expectedTail(all []byte, keep int, ended bool) (string, bool) {
	if !ended {
		for n := min(3, len(all)); n > 0; n-- {
			if startsCharacter(all[len(all)-n:]) {
				all = all[:len(all)-n]
				break
			}
		}
	}
	runes := []rune(string(all)) // each byte that is in no character becomes U+FFFD
	begin, size := len(runes), 0
	for begin > 0 && size+utf8.RuneLen(runes[begin-1]) <= keep {
		begin--
		size += utf8.RuneLen(runes[begin])
	}
	return string(runes[begin:]), begin > 0
}

// startsCharacter reports whether bytes are the beginning of a character, by trying all next bytes.
func startsCharacter(b []byte) bool {
	if len(b) == utf8.UTFMax {
		return false
	}
	for _, next := range []byte{0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf} {
		more := append(append([]byte{}, b...), next)
		if r, n := utf8.DecodeRune(more); r != utf8.RuneError && n == len(more) || startsCharacter(more) {
			return true
		}
	}
	return false
}

func checkTail(t *testing.T, text []byte, keep, piece int) {
	t.Helper()
	tail := newTail(keep)
	check := func(text []byte, ended bool) {
		want, cut := expectedTail(text, keep, ended)
		got, truncated := decodeTail(tail.Tail(), keep, tail.Omitted() > 0, ended)
		if got != want || truncated != cut || len(got) > keep || !utf8.ValidString(got) {
			t.Fatalf("%d of %q, ended %v: got %q, %v, want %q, %v", keep, text, ended, got, truncated, want, cut)
		}
	}
	for at := 0; at < len(text); at += piece {
		end := min(at+piece, len(text))
		_, _ = tail.Write(text[at:end])
		check(text[:end], false)
	}
	check(text, true)
}

// awkwardTexts contain complete, invalid and truncated characters.
var awkwardTexts = []string{
	"", "plain text that is longer than most limits", "aé€😀é€😀aé€😀", "\xff\xfe\xfd", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
	"\xf0\x9f\x98", "\xf0\x9f\x98\x80\x80\x80\x80\x80\x80\x80\x80\x80", "\xe2\x82€\xe2\x82€\xe2\x82", "\xed\xa0\x80surrogate\xed\xb0\x80",
	"\xf4\x90\x80\x80\xf4\x8f\xbf\xbf", "\xc0\x80\xc1\xbf\xe0\x80\x80\xf0\x80\x80\x80", "\ufffd\ufffd\xef\xbf", "😀\xf0😀\xf0\x9f😀\xf0\x9f\x98😀",
	"\xc3", "\xc3\xc3\xc3\xa9", "\x00\x00\x00",
}

func TestATailEqualsAReferenceImplementation(t *testing.T) {
	for _, text := range awkwardTexts {
		for keep := range 16 {
			for piece := 1; piece < 9; piece++ {
				checkTail(t, []byte(text), keep, piece)
			}
		}
	}
}

func FuzzTail(f *testing.F) {
	for i, text := range awkwardTexts {
		f.Add([]byte(text), uint8(i), uint8(1))
	}
	for i, text := range fuzztest.Mutate(awkwardTexts, 1000) {
		f.Add([]byte(text), uint8(i), uint8(i/7))
	}
	f.Fuzz(func(t *testing.T, text []byte, keep, piece uint8) {
		if len(text) > 1<<10 {
			text = text[:1<<10]
		}
		checkTail(t, text, int(keep), int(piece)+1)
	})
}
