package channels

import (
	"slices"
	"strings"
)

// Characters that turn the direction of writing. Arabic and Hebrew texts need marks, embeddings and
// isolates; nobody needs overrides, which show "photo\u202Egnp.exe" as "photoexe.png".
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

// TurnsDirection tells whether a character has no other purpose than to turn the direction of
// writing.
func TurnsDirection(r rune) bool {
	return r >= embedLeft && r <= overrideRight || r >= isolateLeft && r <= popIsolate || r == markLeft || r == markRight || r == markArabic
}

// Presentable returns a message in which no character turns the direction of more than its author's
// own words. A channel for people calls it first in Plan. The message itself is left as it was.
func Presentable(m Message) Message {
	m.Text = SteadyText(m.Text)
	m.Screen = m.Screen.steady()
	if slices.ContainsFunc(m.Buttons, func(b Button) bool { return SteadyText(b.Label) != b.Label }) {
		m.Buttons = slices.Clone(m.Buttons)
		for i := range m.Buttons {
			m.Buttons[i].Label = SteadyText(m.Buttons[i].Label)
		}
	}
	if slices.ContainsFunc(m.Media, func(f File) bool { return SteadyName(f.Name) != f.Name }) {
		m.Media = slices.Clone(m.Media)
		for i := range m.Media {
			m.Media[i].Name = SteadyName(m.Media[i].Name)
		}
	}
	return m
}

// SteadyName returns a name without any character that turns the direction of writing: a name is
// shown in the middle of other words.
func SteadyName(name string) string {
	return strings.Map(func(r rune) rune {
		if TurnsDirection(r) {
			return -1
		}
		return r
	}, name)
}

// SteadyText makes overrides visible as ⟨U+202E⟩, and closes in each line the embeddings and
// isolates that are opened there, so that what follows reads as it is written. Marks, and what is
// closed already, stay.
func SteadyText(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return TurnsDirection(r) && r != markLeft && r != markRight && r != markArabic }) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	var open []rune // what closes the embeddings and isolates that are open, the innermost last
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
				continue // it closes nothing, or not what was opened last
			}
			open = open[:n-1]
		case '\n', '\r', '\u2028', '\u2029', '\u0085': // the end of a line closes them anyway
			closeAll(&b, open)
			open = open[:0]
		}
		b.WriteRune(r)
	}
	closeAll(&b, open)
	return b.String()
}

func closeAll(b *strings.Builder, open []rune) {
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteRune(open[i])
	}
}
