package cli

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"nanobot/channels/markdown"
)

// codeIndent indents the lines of a code block if no colour marks it.
const codeIndent = "    "

// terminalWriter writes a text with SGR codes, and wraps its lines except those of code and tables.
// It resets every style before the end of the line, so that output that is cut leaves no terminal
// bold.
type terminalWriter struct {
	out   strings.Builder
	width int                   // columns of the terminal
	codes bool                  // SGR codes may be written
	open  map[markdown.Kind]int // number of open marks of a kind
	level int                   // level of the open heading
	style string                // style that was written last

	line   strings.Builder // the current line
	spans  []styledSpan    // the styles in the line
	prefix string          // of the current line and of those that continue it
	asIs   bool            // the current line is not wrapped
}

// styledSpan is a part of a line with one style.
type styledSpan struct {
	end   int // in bytes
	style string
}

// renderMarkdown renders Markdown for a terminal of a width in columns. It returns "" if nothing is
// visible.
func renderMarkdown(source string, width int, codes bool) string {
	tableWidth := width
	if !codes {
		tableWidth -= len(codeIndent)
	}
	v := &terminalWriter{width: width, codes: codes, open: map[markdown.Kind]int{}}
	markdown.Layout{TableWidth: max(tableWidth, 1)}.Text(source).Visit(v)
	v.flushLine()
	return v.out.String()
}

// Begin starts a mark.
func (v *terminalWriter) Begin(m markdown.Mark) {
	v.open[m.Kind]++
	if m.Kind == markdown.Heading {
		v.level = m.Level
	}
	v.write(v.delimiter(m.Kind))
}

// End ends a mark.
func (v *terminalWriter) End(m markdown.Mark) {
	v.write(v.delimiter(m.Kind))
	v.open[m.Kind]--
}

// delimiter returns the text on both sides of a mark that has no style.
func (v *terminalWriter) delimiter(k markdown.Kind) string {
	switch {
	case k == markdown.Spoiler:
		return "||"
	case k == markdown.Code && !v.codes:
		return "`"
	}
	return ""
}

// Text writes lines.
func (v *terminalWriter) Text(s string, _ int) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			v.endLine()
		}
		v.write(line)
	}
}

// write writes a part of one line. It removes control characters, which character references may
// produce.
func (v *terminalWriter) write(s string) {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, s)
	if s == "" {
		return
	}
	if v.line.Len() == 0 {
		v.startLine()
	}
	v.line.WriteString(s)
	v.spans = append(v.spans, styledSpan{v.line.Len(), v.openStyle()})
}

// startLine determines the prefix of a line that has content.
func (v *terminalWriter) startLine() {
	if v.open[markdown.Quote] > 0 {
		v.prefix = "│ "
	}
	if v.asIs = v.open[markdown.CodeBlock] > 0; v.asIs && !v.codes {
		v.prefix += codeIndent
	}
}

func (v *terminalWriter) endLine() {
	if v.line.Len() == 0 && v.open[markdown.Quote] > 0 {
		v.out.WriteString("│")
	}
	v.flushLine()
	v.out.WriteByte('\n')
}

// flushLine writes the current line without its end.
func (v *terminalWriter) flushLine() {
	line, parts, indent := v.line.String(), []lineRange{{0, v.line.Len()}}, 0
	if !v.asIs && v.width >= minWrapWidth {
		width := v.width - uniseg.StringWidth(v.prefix)
		indent = hangingIndent(line, width)
		parts = wrapLine(line, width, indent)
	}
	spans := v.spans
	for i, part := range parts {
		if i > 0 {
			v.out.WriteString("\n" + v.prefix + strings.Repeat(" ", indent))
		} else {
			v.out.WriteString(v.prefix)
		}
		for at := part.start; at < part.end; {
			for spans[0].end <= at {
				spans = spans[1:]
			}
			end := min(spans[0].end, part.end)
			v.setStyle(spans[0].style)
			v.out.WriteString(line[at:end])
			at = end
		}
		v.setStyle("")
	}
	v.line.Reset()
	v.spans, v.prefix, v.asIs = v.spans[:0], "", false
}

// openStyle returns the parameters of the SGR code for the open marks.
func (v *terminalWriter) openStyle() string {
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

// setStyle switches the terminal to a style; "" is none.
func (v *terminalWriter) setStyle(style string) {
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
