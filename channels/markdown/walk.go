package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"nanobot/channels"
)

// Kind is the kind of an element.
type Kind int

// The kinds of elements: blocks first, then inline elements.
const (
	Paragraph Kind = iota
	Heading
	CodeBlock
	Quote
	List
	Item
	Rule

	// These are only in the marks of a Text.

	Marker     // the bullet or number before an item
	WarnedLink // a link and the warning after it

	Bold
	Italic
	Strike
	Spoiler
	Code
	Link     // or an image
	AutoLink // a bare address; in the marks of a Text only if it is in brackets
	kinds
)

// Element is an element of a text. Its kind determines which fields are set.
type Element struct {
	Kind     Kind
	Gap      int    // of a block: the line breaks before it, as in the source
	Indent   string // of a paragraph outside lists and quotes: the indentation of its first line
	Tight    bool   // of a paragraph: it is in a list without empty lines
	Literal  bool   // of a paragraph: it is not Markdown, and its white space is significant
	Level    int    // of a heading, 1 to 6
	Language string // of a code block
	Ordered  bool   // of a list
	Start    int    // of an ordered list: its first number
	Number   string // of an item of an ordered list: "1. " or "1) "
	Box      string // of an item of a task list: "☐ " or "☑ "
	Sign     string // of an item that is empty and alone: its sign
	URL      string // of a link, with its escapes and references resolved
	Brackets bool   // of an autolink: it is in angle brackets
	Label    string // of a link or an image: its visible text, without white space around it
	Nested   bool   // of a link: it is within another
	Warning  string // of a link whose text shows an address other than its target
}

// Renderer receives the elements of a text in reading order. Each network has one.
type Renderer interface {
	Begin(e Element)
	End(e Element)
	// Text receives text of a line, or the whole content of a code block.
	Text(s string)
	// Break ends a line within a block. The next line is indented by the given white space.
	Break(indent string)
	// Table receives a table, instead of Begin and End.
	Table(t Table)
}

// Walk reports the elements of a text in a format to a renderer. Line breaks of the source are
// kept, and HTML is text.
func Walk(source string, format channels.Format, r Renderer) {
	switch format {
	case channels.Literal:
		walkLiteral(source, r)
	case channels.Code:
		walkCode(source, r)
	default:
		walkMarkdown(source, r)
	}
}

func walkMarkdown(source string, r Renderer) {
	if isUnmarked(source) {
		walkUnmarked(source, r)
	} else {
		parseAndWalk(source, r)
	}
}

func parseAndWalk(source string, r Renderer) {
	s := []byte(source)
	w := &walker{source: s, r: r}
	document := commonMark().Parse(text.NewReader(s))
	w.findReferences(document)
	w.blocks(document)
}

// walker walks over the syntax tree of goldmark.
type walker struct {
	source    []byte
	r         Renderer
	nested    int                  // number of open lists and quotes
	used      map[string]bool      // the link definitions that are used
	links     map[ast.Node]Element // of the current block: their labels and warnings
	openLinks int
	inTable   bool
}

// blocks walks over the blocks of a container.
func (w *walker) blocks(container ast.Node) {
	for n := container.FirstChild(); n != nil; n = n.NextSibling() {
		if d, ok := n.(*ast.LinkReferenceDefinition); ok && w.used[util.ToLinkReference(d.Label)] {
			continue
		}
		gap := 0
		if n.PreviousSibling() != nil {
			gap = 1 + w.emptyLinesBefore(n)
		}
		w.block(n, gap)
	}
}

func (w *walker) block(n ast.Node, gap int) {
	switch n := n.(type) {
	case *ast.Heading:
		w.lines(n, Element{Kind: Heading, Gap: gap, Level: n.Level})
	case *ast.Paragraph, *ast.TextBlock:
		e := Element{Kind: Paragraph, Gap: gap, Tight: n.Kind() == ast.KindTextBlock}
		if w.nested == 0 {
			e.Indent = w.indentAt(w.start(n))
		}
		w.lines(n, e)
	case *ast.FencedCodeBlock:
		w.raw(Element{Kind: CodeBlock, Gap: gap, Language: language(string(n.Language(w.source)))}, w.linesOf(n.Lines()))
	case *ast.CodeBlock:
		w.raw(Element{Kind: CodeBlock, Gap: gap}, w.linesOf(n.Lines()))
	case *ast.Blockquote:
		w.nest(n, Element{Kind: Quote, Gap: gap})
	case *ast.List:
		w.list(n, gap)
	case *ast.ThematicBreak:
		w.raw(Element{Kind: Rule, Gap: gap}, "")
	case *ast.HTMLBlock:
		raw := w.linesOf(n.Lines())
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(w.source))
		}
		w.plain(raw, gap)
	case *ast.LinkReferenceDefinition:
		w.plain(w.linesOf(n.Lines()), gap)
	case *extast.Table:
		w.table(n, gap)
	default:
		w.blocks(n)
	}
}

// lines walks over a block of inline text.
func (w *walker) lines(n ast.Node, e Element) {
	w.findLinks(n)
	w.r.Begin(e)
	w.inlines(n)
	w.r.End(e)
}

// raw reports a block whose content is not Markdown.
func (w *walker) raw(e Element, content string) {
	w.r.Begin(e)
	if e.Kind == CodeBlock {
		w.r.Text(strings.Trim(strings.TrimRight(content, " \t\n"), "\n"))
	}
	w.r.End(e)
}

// plain reports a block whose source is shown unchanged.
func (w *walker) plain(content string, gap int) {
	e := Element{Kind: Paragraph, Gap: gap}
	w.r.Begin(e)
	w.plainLines(content)
	w.r.End(e)
}

func (w *walker) plainLines(content string) {
	for i, line := range strings.Split(strings.TrimRight(content, "\n"), "\n") {
		if i > 0 {
			w.r.Break("")
		}
		w.r.Text(line)
	}
}

func (w *walker) nest(n ast.Node, e Element) {
	w.nested++
	w.r.Begin(e)
	w.blocks(n)
	w.r.End(e)
	w.nested--
}

func (w *walker) list(n *ast.List, gap int) {
	e := Element{Kind: List, Gap: gap, Ordered: n.IsOrdered(), Start: n.Start}
	w.r.Begin(e)
	numbers := w.numbers(n)
	i := 0
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		item := Element{Kind: Item, Box: checkBox(c)}
		if i > 0 {
			item.Gap = 1 + w.emptyLinesBefore(c)
		}
		if numbers != nil {
			item.Number = numbers[i]
		} else if n.ChildCount() == 1 && !c.HasChildren() {
			item.Sign = string(n.Marker)
		}
		w.nest(c, item)
		i++
	}
	w.r.End(e)
}

func checkBox(item ast.Node) string {
	if item.FirstChild() == nil {
		return ""
	}
	box, ok := item.FirstChild().FirstChild().(*extast.TaskCheckBox)
	switch {
	case !ok:
		return ""
	case box.IsChecked:
		return "☑ "
	}
	return "☐ "
}

// numbers returns the numbers of the items of an ordered list. Items keep their numbers, unless all
// have the same one, which leaves the counting to the reader. Other lists have none.
func (w *walker) numbers(n *ast.List) []string {
	if !n.IsOrdered() {
		return nil
	}
	var all []string
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		digits := w.source[w.start(item):]
		i := 0
		for i < len(digits) && util.IsNumeric(digits[i]) {
			i++
		}
		all = append(all, string(digits[:i]))
	}
	counted := len(all) > 1 && all[0] == all[1]
	for i := range all {
		if counted || all[i] == "" {
			all[i] = strconv.Itoa(n.Start + i)
		}
		all[i] += string(n.Marker) + " "
	}
	return all
}

// linesOf returns lines of the source unchanged.
func (w *walker) linesOf(segments *text.Segments) string { return string(segments.Value(w.source)) }

// language returns the language of a code block: the first word after the fence.
func language(word string) string {
	i := 0
	for i < len(word) && i < 32 && (util.IsAlphaNumeric(word[i]) || strings.IndexByte("+-#._", word[i]) >= 0) {
		i++
	}
	return strings.ToLower(word[:i])
}

// start returns the approximate position of a block in the source: goldmark expands tabs, and gives
// an underlined heading the position of its underline.
func (w *walker) start(n ast.Node) int {
	switch n.(type) {
	case *ast.Heading, *ast.Paragraph, *ast.TextBlock, *ast.HTMLBlock, *ast.CodeBlock:
		if n.Lines().Len() > 0 {
			return n.Lines().At(0).Start
		}
	}
	return min(max(n.Pos(), 0), len(w.source))
}

// indentAt returns the white space between the start of a line and p.
func (w *walker) indentAt(p int) string {
	i := p
	for i > 0 && (w.source[i-1] == ' ' || w.source[i-1] == '\t') {
		i--
	}
	return string(w.source[i:p])
}

// emptyLinesBefore counts the empty lines before a block. In a quote they have the signs of the
// quote.
func (w *walker) emptyLinesBefore(n ast.Node) int {
	p, before := w.start(n), w.start(n.PreviousSibling())
	if p == before { // goldmark places a table at the start of the paragraph before it
		return 0
	}
	for p > before && w.source[p-1] != '\n' {
		p--
	}
	count := 0
	for i := p - 1; i > before; i-- {
		switch w.source[i-1] {
		case '\n':
			count++
		case ' ', '\t', '>':
		default:
			return count
		}
	}
	return count
}

// findReferences finds the link definitions that are used.
func (w *walker) findReferences(document ast.Node) {
	w.used = map[string]bool{}
	for n := document; n != nil; n = nextNode(n, document) {
		if l, ok := n.(*ast.Link); ok && l.Reference != nil {
			w.used[util.ToLinkReference(l.Reference.Value)] = true
		}
		if l, ok := n.(*ast.Image); ok && l.Reference != nil {
			w.used[util.ToLinkReference(l.Reference.Value)] = true
		}
	}
}

// nextNode returns the node after n in reading order, or nil after the last one within root.
func nextNode(n, root ast.Node) ast.Node {
	if c := n.FirstChild(); c != nil {
		return c
	}
	for n != root && n.NextSibling() == nil {
		n = n.Parent()
	}
	if n == root {
		return nil
	}
	return n.NextSibling()
}
