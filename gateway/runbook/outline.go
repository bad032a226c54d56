package runbook

import (
	"bytes"
	"sort"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown parses the blocks of CommonMark. It omits underlined headings, because `---` after a
// paragraph is mostly meant to be a rule, and inline elements.
var markdown = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	))
})

// outline is a document divided at its headings.
type outline struct {
	source       string
	bytes        []byte // the same as source
	lines        []int  // start of each line
	titles       []section
	introduction string
	introNodes   []ast.Node // the blocks of the introduction
	steps        []section
}

// section is a heading and the text up to the next step.
type section struct {
	label      string
	line       int // of the heading
	start, end int // of the text after the heading
	nodes      []ast.Node
}

// readOutline parses a document. Headings inside lists, quotes or code blocks do not count.
func readOutline(source string) *outline {
	o := &outline{source: source, bytes: []byte(source), lines: []int{0}}
	for i := range len(source) {
		if source[i] == '\n' {
			o.lines = append(o.lines, i+1)
		}
	}
	document := markdown().Parse(text.NewReader(o.bytes))
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		o.addBlock(n)
	}
	o.endSections()
	return o
}

func (o *outline) addBlock(n ast.Node) {
	if h, ok := n.(*ast.Heading); ok && h.Level <= 2 {
		line := o.lineAt(h.Pos())
		s := section{label: strings.TrimSpace(string(h.Lines().Value(o.bytes))), line: line, start: o.lineStart(line + 1)}
		if h.Level == 2 {
			o.steps = append(o.steps, s)
			return
		}
		o.titles = append(o.titles, s)
		if len(o.titles) == 1 && len(o.steps) == 0 {
			return // not part of the introduction
		}
	}
	if len(o.steps) == 0 {
		o.introNodes = append(o.introNodes, n)
		return
	}
	last := &o.steps[len(o.steps)-1]
	last.nodes = append(last.nodes, n)
}

// endSections ends each section where the next one starts. Without an H2 the title is the only
// step.
func (o *outline) endSections() {
	for i := range o.steps {
		o.steps[i].end = len(o.source)
		if i+1 < len(o.steps) {
			o.steps[i].end = o.lineStart(o.steps[i+1].line)
		}
	}
	if len(o.titles) == 0 {
		return
	}
	title := o.titles[0]
	head := o.source[:o.lineStart(title.line)]
	switch {
	case len(o.steps) == 0:
		title.end = len(o.source)
		for _, n := range o.introNodes {
			if n.Pos() >= title.start {
				title.nodes = append(title.nodes, n)
			}
		}
		o.introNodes = o.introNodes[:len(o.introNodes)-len(title.nodes)]
		o.introduction, o.steps = head, []section{title}
	case title.line < o.steps[0].line:
		o.introduction = head + o.source[title.start:o.lineStart(o.steps[0].line)]
	default:
		o.introduction = o.source[:o.lineStart(o.steps[0].line)]
	}
}

// lineAt returns the line number of a position, counted from 1.
func (o *outline) lineAt(position int) int {
	return max(1, sort.Search(len(o.lines), func(i int) bool { return o.lines[i] > position }))
}

// lineStart returns the start of a line, or the end of the text after the last line.
func (o *outline) lineStart(line int) int {
	if line > len(o.lines) {
		return len(o.source)
	}
	return o.lines[line-1]
}

// lastBlock returns the fenced block at the end of a section, which may be inside a list, or nil.
func (s section) lastBlock() *ast.FencedCodeBlock {
	if len(s.nodes) == 0 {
		return nil
	}
	n := s.nodes[len(s.nodes)-1]
	for n != nil && (n.Kind() == ast.KindList || n.Kind() == ast.KindListItem) {
		n = n.LastChild()
	}
	block, _ := n.(*ast.FencedCodeBlock)
	return block
}

// isJSON reports whether the info string of a block is `json` or empty.
func (o *outline) isJSON(block *ast.FencedCodeBlock) bool {
	if block.Info == nil {
		return true
	}
	info := bytes.TrimSpace(block.Info.Segment.Value(o.bytes))
	return len(info) == 0 || strings.EqualFold(string(info), "json")
}

// walkCode calls do with every code block, fenced or indented, and every HTML block.
func walkCode(nodes []ast.Node, do func(ast.Node)) {
	for _, n := range nodes {
		//nolint:errcheck // the function returns none
		ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n.Kind() {
			case ast.KindFencedCodeBlock, ast.KindCodeBlock, ast.KindHTMLBlock:
				if entering {
					do(n)
				}
				return ast.WalkSkipChildren, nil
			}
			return ast.WalkContinue, nil
		})
	}
}
