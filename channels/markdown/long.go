package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"nanobot/channels"
)

// What the beginning of a text ends with when the rest is only in the file, and its short form for
// parts that have no room for it.
const (
	cutMark      = "\n\n… (the whole answer is in the file)"
	shortCutMark = "…"
)

// Document makes a file of a text that is too long for a chat. Its content is stored as JSON, which
// has no way to write bytes that are no UTF-8.
func Document(source string) *channels.File {
	source = strings.ToValidUTF8(source, "\uFFFD")
	name := "answer.txt"
	if isMarkdown(source) {
		name = "answer.md"
	}
	return &channels.File{Name: name, Kind: channels.Document, Size: int64(len(source)), Content: source}
}

// isMarkdown tells whether a text is written in Markdown, by what plain text rarely has.
func isMarkdown(source string) bool {
	s := []byte(source)
	document := commonMark.Parse(text.NewReader(s))
	for n := ast.Node(document); n != nil; n = following(n, document) {
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

// Beginning reads the beginning of a text of which the rest is only in a file, and says so. It
// costs at most limit.
func (l Layout) Beginning(source string, limit int, cost Cost) Text {
	mark := cutMark
	if limit < 2*cost.Words(mark) {
		mark = shortCutMark
	}
	first := l.Text(head(source, 16*limit)).Split(limit-cost.Words(mark), cost)
	if len(first) == 0 || cost.Words(first[0].Text)+cost.Words(mark) > limit {
		return Plain(strings.TrimSpace(mark))
	}
	t := first[0]
	t.Text += mark
	return t
}

// Excerpt returns the beginning of a text of which the rest is only in a file, as Markdown, and
// says so. A block of code that is cut is closed.
func Excerpt(source string, limit int) string {
	source = head(source, 4*limit)
	room := limit - utf8.RuneCountInString(cutMark)
	parts := Plain(source).Split(room, Cost{Words: channels.Runes})
	if len(parts) == 0 {
		return strings.TrimSpace(cutMark)
	}
	first := parts[0].Text
	cut := strings.Index(source, first) + len(first)
	return first + closing([]byte(source), cut) + cutMark
}

// closing returns what closes the block of code that a text is cut in.
func closing(source []byte, cut int) string {
	document := commonMark.Parse(text.NewReader(source))
	for n := ast.Node(document); n != nil; n = following(n, document) {
		code, ok := n.(*ast.FencedCodeBlock)
		if !ok || code.Lines().Len() == 0 {
			continue
		}
		lines := code.Lines()
		from := lines.At(0).Start
		if from > cut || lines.At(lines.Len()-1).Stop < cut {
			continue
		}
		fence := source[:from]
		fence = fence[strings.LastIndexByte(strings.TrimRight(string(fence), "\n"), '\n')+1:]
		run := strings.TrimLeft(string(fence), " \t>-*+0123456789.)")
		return "\n" + run[:len(run)-len(strings.TrimLeft(run, run[:1]))]
	}
	return ""
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
