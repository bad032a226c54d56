package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ansi matches terminal control sequences: CSI, OSC and the two-byte escapes.
var ansi = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|[ -/]*[0-Z\\\\^-~])")

// overwritten matches text that later text on the same line overwrites after a carriage return, as
// in a progress bar.
var overwritten = regexp.MustCompile(`[^\n]*\r+([^\n])`)

// Clean prepares text for a chat: valid UTF-8, \n line ends, no terminal escapes and no other
// control characters. A NUL becomes U+FFFD, because some networks truncate a text there.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = ansi.ReplaceAllString(s, "")
	}
	s = overwritten.ReplaceAllString(strings.ReplaceAll(s, "\r\n", "\n"), "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == 0:
			return '\uFFFD'
		case r < 0x20 && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0: // C0, DEL and C1
			return -1
		}
		return r
	}, s)
}

// Visible replaces characters that cannot be seen, or that change the order of text, with visible
// signs, for a person who decides about the text. Spaces, newlines and tabs stay.
func Visible(s string) string {
	var b strings.Builder
	var before rune
	for _, r := range s { // an invalid byte is U+FFFD
		isEmoji := r == '\ufe0f' && before > unicode.MaxLatin1 && !unicode.Is(unicode.Variation_Selector, before)
		before = r
		switch {
		case r == '\n' || r == '\t' || r == ' ' || isEmoji:
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector),
			r == '\u2800': // the Braille pattern without dots
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isClean(s string) bool {
	for i := range len(s) {
		// C1 controls are U+0080 to U+009F, which begin with the byte C2.
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c == 0x7f || c == 0xc2 {
			return false
		}
	}
	return utf8.ValidString(s)
}

// TrimText removes white space at the end and blank lines at the beginning, and keeps indentation.
func TrimText(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	for {
		line, rest, found := strings.Cut(s, "\n")
		if !found || strings.Trim(line, " \t\r") != "" {
			return s
		}
		s = rest
	}
}

// CodeSpan returns a text of one line as a Markdown code span, in which backticks stay.
func CodeSpan(s string) string {
	ticks := fence("`", s)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " " // which Markdown removes
	}
	return ticks + s + ticks
}

// fence returns backticks, at least those given, that are longer than any in the text.
func fence(ticks, text string) string {
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks
}

// CodeBlock returns a text as a fenced Markdown code block.
func CodeBlock(language, text string) string {
	ticks := fence("```", text)
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks
}

// OneLine joins the lines of a text and shortens it to n characters.
func OneLine(s string, n int) string {
	return Shorten(strings.Join(strings.Fields(Clean(Shorten(s, 8*n))), " "), n)
}

// Shorten cuts a text after n characters and appends an ellipsis.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count++; count > n {
			return s[:i] + "…"
		}
	}
	return s
}
