package markdown

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"

	"nanobot/channels"
)

// clean returns valid UTF-8 in which control characters are spaces and all line ends are line
// feeds.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, unclean) < 0 {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(cleanRune, s)
}

func unclean(r rune) bool { return cleanRune(r) != r }

func cleanRune(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r' || r == '\u2028' || r == '\u2029':
		return '\n'
	case r < ' ' || '\x7f' <= r && r <= '\u009f': // U+009B starts a control sequence, like ESC [
		return ' '
	}
	return r
}

// Visible reports whether a text has a visible character. Telegram refuses messages without one.
func Visible(s string) bool { return strings.IndexFunc(s, visibleRune) >= 0 }

func visibleRune(r rune) bool {
	if '!' <= r && r <= '~' {
		return true
	}
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0', '\ufffc':
		return false
	}
	return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector)
}

// decode resolves backslash escapes and character references.
func decode(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
			continue
		case s[i] == '&':
			if value, n := reference(s[i:]); n > 0 {
				b.WriteString(value)
				i += n
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// The longest name of a character reference is CounterClockwiseContourIntegral.
const maxReference = 34

// reference decodes the character reference at the start of s and returns its length, or 0. It
// removes bidirectional controls, because channels.SanitizeBidiText ran on the undecoded text.
func reference(s string) (string, int) {
	end := strings.IndexByte(s[:min(len(s), maxReference)], ';')
	if end < 2 {
		return "", 0
	}
	name := s[1:end]
	if name[0] != '#' {
		if e, ok := util.LookUpHTML5EntityByName(name); ok {
			return channels.StripBidi(clean(string(e.Characters))), end + 1
		}
		return "", 0
	}
	digits, base := name[1:], 10
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > unicode.MaxRune {
		return "", 0
	}
	r := rune(n)
	if r == 0 || !utf8.ValidRune(r) {
		r = utf8.RuneError
	}
	return channels.StripBidi(clean(string(r))), end + 1
}
