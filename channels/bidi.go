package channels

import (
	"slices"
	"strings"
)

// Bidirectional (bidi) control characters. Arabic and Hebrew texts need marks, embeddings and
// isolates. Nobody needs overrides, which display "photo\u202Egnp.exe" as "photoexe.png".
const (
	embedLeft     = '\u202a'
	embedRight    = '\u202b'
	popEmbedding  = '\u202c'
	overrideLeft  = '\u202d'
	overrideRight = '\u202e'
	isolateLeft   = '\u2066'
	isolateRight  = '\u2067'
	isolateFirst  = '\u2068'
	popIsolate    = '\u2069'
	markLeft      = '\u200e'
	markRight     = '\u200f'
	markArabic    = '\u061c'
)

// IsBidiControl reports whether a character is a bidi control character.
func IsBidiControl(r rune) bool {
	return r >= embedLeft && r <= overrideRight || r >= isolateLeft && r <= popIsolate || r == markLeft ||
		r == markRight || r == markArabic
}

// SanitizeBidi returns a copy of a message in which bidi control characters affect only the text of
// the message itself. A channel for people calls it first in Plan.
func SanitizeBidi(m Message) Message {
	m.Text, m.Details = SanitizeBidiText(m.Text), SanitizeBidiText(m.Details)
	m.Screen = m.Screen.stripBidi()
	if slices.ContainsFunc(m.Buttons, func(b Button) bool { return SanitizeBidiText(b.Label) != b.Label }) {
		m.Buttons = slices.Clone(m.Buttons)
		for i := range m.Buttons {
			m.Buttons[i].Label = SanitizeBidiText(m.Buttons[i].Label)
		}
	}
	if slices.ContainsFunc(m.Media, func(f File) bool { return StripBidi(f.Name) != f.Name }) {
		m.Media = slices.Clone(m.Media)
		for i := range m.Media {
			m.Media[i].Name = StripBidi(m.Media[i].Name)
		}
	}
	return m
}

// StripBidi returns a name without bidi control characters. A name is shown in the middle of other
// text, whose direction they would change.
func StripBidi(name string) string {
	return strings.Map(func(r rune) rune {
		if IsBidiControl(r) {
			return -1
		}
		return r
	}, name)
}

// SanitizeBidiText writes overrides as visible text, such as ⟨U+202E⟩, and closes in each line
// the embeddings and isolates that the line opens, so that they do not affect the text after it.
// Marks and balanced pairs stay.
func SanitizeBidiText(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return IsBidiControl(r) && r != markLeft && r != markRight &&
			r != markArabic
	}) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	var open []rune // the closing characters of open embeddings and isolates, the innermost last
	for _, r := range text {
		switch r {
		case overrideLeft:
			b.WriteString("⟨U+202D⟩")
			continue
		case overrideRight:
			b.WriteString("⟨U+202E⟩")
			continue
		case embedLeft, embedRight:
			open = append(open, popEmbedding)
		case isolateLeft, isolateRight, isolateFirst:
			open = append(open, popIsolate)
		case popEmbedding, popIsolate:
			n := len(open)
			if n == 0 || open[n-1] != r {
				continue // it closes nothing, or not the innermost
			}
			open = open[:n-1]
		case '\n', '\r', '\u2028', '\u2029', '\u0085': // the end of a line closes them for the reader, too
			closeBidi(&b, open)
			open = open[:0]
		}
		b.WriteRune(r)
	}
	closeBidi(&b, open)
	return b.String()
}

func closeBidi(b *strings.Builder, open []rune) {
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteRune(open[i])
	}
}
