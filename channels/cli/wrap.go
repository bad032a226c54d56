package cli

import (
	"strings"

	"github.com/rivo/uniseg"

	"nanobot/internal/lazyregexp"
)

// minWrapWidth is the width in columns below which lines are not wrapped: hardly a word would fit.
const minWrapWidth = 20

// lineRange is a part of a line, in bytes.
type lineRange struct{ start, end int }

// marker matches the indentation of a line with the marker of a list item.
var marker = lazyregexp.New(`^ *(?:(?:[•☐☑]|\d+[.)]) )? *`)

// hangingIndent returns the indentation of the lines that continue a line: that of the text of a
// list item. If it would leave too little room, there is none.
func hangingIndent(line string, width int) int {
	indent := uniseg.StringWidth(marker().FindString(line))
	if indent > width/2 {
		return 0
	}
	return indent
}

// wrapLine breaks a line between words, so that each part has at most width columns. All parts but
// the first are indented. Wide characters take two columns, and a line may be broken beside them
// where Unicode allows it (UAX #14). A word that is too long is not broken: terminals do that, and
// then a long address can still be opened.
func wrapLine(line string, width, indent int) []lineRange {
	var parts []lineRange
	start, breakAt := 0, 0 // of the current part, and of the next one if the line is broken
	used, usedAtBreak := 0, 0
	position, state, canBreak := 0, -1, false
	for rest := line; rest != ""; {
		var cluster string
		var boundaries int
		cluster, rest, boundaries, state = uniseg.StepString(rest, state)
		columns := boundaries >> uniseg.ShiftWidth
		if canBreak && columns == 2 {
			breakAt, usedAtBreak = position, used
		}
		if cluster != " " && used+columns > width && breakAt > start {
			parts = append(parts, lineRange{start, start + len(strings.TrimRight(line[start:breakAt], " "))})
			start, used = breakAt, indent+used-usedAtBreak
		}
		position += len(cluster)
		used += columns
		canBreak = boundaries&uniseg.MaskLine == uniseg.LineCanBreak
		if canBreak && columns == 2 || cluster == " " {
			breakAt, usedAtBreak = position, used
		}
	}
	return append(parts, lineRange{start, len(line)})
}

// wrapText wraps the lines of a text that is not Markdown. Lines with columns, which have tabs or
// several blanks between words, stay as they are.
func wrapText(text string, width int) string {
	if width < minWrapWidth {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimLeft(content, " "); strings.Contains(trimmed, "  ") || strings.Contains(trimmed, "\t") {
			b.WriteString(line)
			continue
		}
		indent := hangingIndent(content, width)
		for i, part := range wrapLine(content, width, indent) {
			if i > 0 {
				b.WriteString("\n" + strings.Repeat(" ", indent))
			}
			b.WriteString(content[part.start:part.end])
		}
		b.WriteString(line[len(content):])
	}
	return b.String()
}
