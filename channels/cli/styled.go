package cli

import (
	"strings"
	"unicode"

	"nanobot/channels/markdown"
)

// codeIndent stands before the lines of a block of code where no colour tells them apart.
const codeIndent = "    "

// styled is a visitor that writes a text for a terminal. Every style that a line opens is closed
// before the line ends, so that output that is cut leaves no terminal bold.
type styled struct {
	out   strings.Builder
	codes bool                  // SGR codes may be written
	open  map[markdown.Kind]int // how many marks of a kind are open
	level int                   // of the heading that is open
	style string                // what the terminal was told last
	begun bool                  // something was written into the line
}

// renderMarkdown shows Markdown on a terminal of so many columns. The text is empty if nothing of
// it can be seen.
func renderMarkdown(source string, width int, codes bool) string {
	if !codes {
		width -= len(codeIndent)
	}
	v := &styled{codes: codes, open: map[markdown.Kind]int{}}
	markdown.Layout{TableWidth: max(width, 1)}.Text(source).Visit(v)
	v.setStyle("")
	return v.out.String()
}

// Begin starts a mark.
func (v *styled) Begin(m markdown.Mark) {
	v.open[m.Kind]++
	if m.Kind == markdown.Heading {
		v.level = m.Level
	}
	v.write(v.sign(m.Kind))
}

// End ends a mark.
func (v *styled) End(m markdown.Mark) {
	v.write(v.sign(m.Kind))
	v.open[m.Kind]--
}

// sign returns what stands on either side of a mark that no style shows.
func (v *styled) sign(k markdown.Kind) string {
	switch {
	case k == markdown.Spoiler:
		return "||"
	case k == markdown.Code && !v.codes:
		return "`"
	}
	return ""
}

// Text writes lines.
func (v *styled) Text(s string, _ int) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			v.endLine()
		}
		v.write(line)
	}
}

// write writes words of one line. A character reference may have become a control character.
func (v *styled) write(s string) {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, s)
	if s == "" {
		return
	}
	if !v.begun {
		v.begun = true
		if v.open[markdown.Quote] > 0 {
			v.out.WriteString("│ ")
		}
		if v.open[markdown.CodeBlock] > 0 && !v.codes {
			v.out.WriteString(codeIndent)
		}
	}
	v.setStyle(v.wanted())
	v.out.WriteString(s)
}

func (v *styled) endLine() {
	v.setStyle("")
	if !v.begun && v.open[markdown.Quote] > 0 {
		v.out.WriteString("│")
	}
	v.out.WriteByte('\n')
	v.begun = false
}

// wanted returns the parameters of the SGR code for the marks that are open.
func (v *styled) wanted() string {
	var codes []string
	for _, s := range []struct {
		on   bool
		code string
	}{
		{v.open[markdown.Bold]+v.open[markdown.Heading] > 0, "1"},
		{v.open[markdown.Italic] > 0, "3"},
		{v.open[markdown.Heading] > 0 && v.level <= 2, "4"},
		{v.open[markdown.Strike] > 0, "9"},
		{v.open[markdown.Code]+v.open[markdown.CodeBlock] > 0, "36"}, // cyan, which dark and light terminals show well
	} {
		if s.on {
			codes = append(codes, s.code)
		}
	}
	return strings.Join(codes, ";")
}

// setStyle tells the terminal a style; "" is none.
func (v *styled) setStyle(style string) {
	if !v.codes || style == v.style {
		return
	}
	if v.style != "" {
		v.out.WriteString("\x1b[0m")
	}
	if style != "" {
		v.out.WriteString("\x1b[" + style + "m")
	}
	v.style = style
}
