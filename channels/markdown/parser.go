package markdown

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"nanobot/internal/lazyregexp"
)

// commonMark is CommonMark with GitHub's tables, task lists and bare URLs, and with our delimiters.
// The priorities are those of goldmark's own list.
var commonMark = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(shallow{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(shallow{quotes{parser.NewBlockquoteParser()}}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(links{parser.NewLinkParser()}, 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(delimiters{}, 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(references{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(tables{extension.NewTableParagraphTransformer()}, 200),
		),
	)
})

// goldmark needs quadratic time for some texts that no author writes. The wrappers below limit the
// parsing of such texts, which are then shown as they are.
const (
	maxDepth      = 40      // nested quotes and lists
	maxDelimiters = 1000    // per paragraph; each closing one may be compared with each opening one
	maxBrackets   = 300     // per paragraph
	maxLookAhead  = 1 << 20 // bytes per paragraph in which the ends of links are searched
	maxReferences = 500     // lines per paragraph of link definitions
	maxColumns    = 64
)

// shallow limits the nesting of quotes and lists.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// quotes does not parse a line of a Python session, such as ">>> print(1)", as a quote.
type quotes struct{ parser.BlockParser }

func (q quotes) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if line, _ := reader.PeekLine(); bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte(">>> ")) {
		return nil, parser.NoChildren
	}
	return q.BlockParser.Open(parent, reader, pc)
}

// effort counts the work on the inlines of one block.
type effort struct {
	block                           ast.Node
	delimiters, brackets, lookAhead int
}

var effortKey = parser.NewContextKey()

func effortIn(block ast.Node, pc parser.Context) *effort {
	e, ok := pc.Get(effortKey).(*effort)
	if !ok {
		e = &effort{}
		pc.Set(effortKey, e)
	}
	if e.block != block {
		*e = effort{block: block}
	}
	return e
}

func (e *effort) delimiter() bool {
	e.delimiters++
	return e.delimiters <= maxDelimiters
}

// links limits the brackets of a block, and how far goldmark searches for the ends of links.
type links struct{ parser.InlineParser }

func (l links) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	e := effortIn(parent, pc)
	switch {
	case line[0] != ']':
		if e.brackets++; e.brackets > maxBrackets {
			return nil
		}
	case len(line) > 1 && (line[1] == '(' || line[1] == '['):
		if e.lookAhead += len(line); e.lookAhead > maxLookAhead {
			return nil
		}
	}
	return l.InlineParser.Parse(parent, block, pc)
}

// CloseBlock is called by goldmark at the end of each block.
func (l links) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := l.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// references accepts only URLs as link definitions: "[INFO]: starting" is not one.
type references struct{ parser.ParagraphTransformer }

var definition = lazyregexp.New(`^ {0,3}\[[^\]]+\]:[ \t]*<?(?:https?://|tg://|ftp://|mailto:|www\.)`)

func (r references) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	if lines.Len() > maxReferences {
		return
	}
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(reader.Source())
		if (i == 0 || bytes.HasPrefix(line, []byte("["))) && !definition().Match(line) {
			return
		}
	}
	r.ParagraphTransformer.Transform(node, reader, pc)
}

// tables refuses tables whose rows have more cells than columns, because cells would be lost, and
// tables with more cells than characters.
type tables struct{ parser.ParagraphTransformer }

func (t tables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	size, columns := 0, 0
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(reader.Source())
		size += len(line)
		switch n := cellCount(line); {
		case len(bytes.Trim(line, " \t\n|-:")) == 0:
			columns = max(columns, n)
		case columns > 0 && n > columns:
			return
		}
	}
	if columns == 0 || columns > maxColumns || columns*lines.Len() > size {
		return
	}
	t.ParagraphTransformer.Transform(node, reader, pc)
}

// cellCount returns the number of cells in a row.
func cellCount(row []byte) int {
	row = bytes.TrimPrefix(bytes.TrimSpace(row), []byte("|"))
	row = bytes.TrimSuffix(row, []byte("|"))
	return 1 + bytes.Count(row, []byte("|")) - bytes.Count(row, []byte(`\|`))
}
