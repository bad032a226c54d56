package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"nanobot/channels"
	"nanobot/internal/words"
)

// cutMark returns the note that replaces the rest of a text that continues in a file: with words
// where there is room for them.
func cutMark(w words.Words, limit int, measure channels.Measure) string {
	if mark := "\n\n… " + w.Text(words.WholeAnswerInFile); limit >= 2*measure(mark) {
		return mark
	}
	return "…"
}

// Document returns a text that is too long for a chat as a file. The content is valid UTF-8,
// because it is stored as JSON.
func Document(source string, format channels.Format) *channels.File {
	source = strings.ToValidUTF8(source, "\uFFFD")
	name := "answer.txt"
	if format == channels.Markdown && isMarkdown(source) {
		name = "answer.md"
	}
	return &channels.File{Name: name, Kind: channels.Document, Size: int64(len(source)), Content: source}
}

// sample is how many characters isMarkdown examines.
const sample = 64 << 10

// isMarkdown reports whether a text has elements of Markdown that are rare in plain text.
func isMarkdown(source string) bool {
	s := []byte(head(source, sample))
	document := commonMark().Parse(text.NewReader(s))
	for n := document; n != nil; n = nextNode(n, document) {
		switch n := n.(type) {
		case *ast.Heading, *ast.FencedCodeBlock, *ast.ListItem, *ast.CodeSpan, *ast.Link, *ast.Image, *extast.Table:
			return true
		case *span:
			if n.kind == Bold {
				return true
			}
		}
	}
	return false
}

// Beginning returns the beginning of a text that continues in a file, with a note about the file.
// It costs at most limit.
func (l Layout) Beginning(source string, limit int, cost Cost, w words.Words) Text {
	mark := cutMark(w, limit, cost.Words)
	first := l.Text(head(source, 16*limit)).Split(limit-cost.Words(mark), cost)
	if len(first) == 0 || cost.Words(first[0].Text)+cost.Words(mark) > limit {
		return Plain(strings.TrimSpace(mark))
	}
	t := first[0]
	t.Text += mark
	return t
}

// Excerpt returns the beginning of a text that continues in a file, in the same format and with at
// most limit characters, with a note about the file. It closes a Markdown code block that is cut.
func Excerpt(source string, format channels.Format, limit int, w words.Words) string {
	mark := cutMark(w, limit, channels.Runes)
	source = head(source, 4*limit)
	room := limit - channels.Runes(mark)
	for range 3 { // closing a fence needs room, which shortens the text
		first := beginning(source, room)
		if first == "" {
			break
		}
		fence := ""
		if format == channels.Markdown {
			fence = closing(first + mark)
		}
		excerpt := first + fence + mark
		over := channels.Runes(excerpt) - limit
		if over <= 0 {
			return excerpt
		}
		room = channels.Runes(first) - over
	}
	return strings.TrimSpace(mark)
}

// beginning returns at most room characters of a text, up to a good seam. It keeps the indentation
// of the first line, which may be significant.
func beginning(source string, room int) string {
	start := strings.LastIndexByte(source[:blankLen(source)], '\n') + 1
	indent := source[start:blankLen(source)]
	if n := channels.Runes(indent); n > room/4 {
		indent = ""
	} else {
		room -= n
	}
	if room <= 0 {
		return ""
	}
	parts := Plain(strings.TrimSpace(source)).Split(room, Cost{Words: channels.Runes})
	if len(parts) == 0 {
		return ""
	}
	return indent + parts[0].Text
}

// closing returns the line that closes the fenced code block at the end of a text. Code in a quote
// or list needs none, because the next line outside closes it.
func closing(source string) string {
	code, ok := commonMark().Parse(text.NewReader([]byte(source))).LastChild().(*ast.FencedCodeBlock)
	if !ok {
		return ""
	}
	fence := strings.TrimLeft(source[code.Pos():], " ")
	return "\n" + fence[:len(fence)-len(strings.TrimLeft(fence, fence[:1]))]
}

// head returns the first n characters of a text.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
