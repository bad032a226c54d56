package entities

import (
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A quote of more than this is folded: Telegram shows three lines of it until it is tapped.
const (
	longQuoteLines = 12
	longQuoteBytes = 1000
)

const rule = "———"

// blocks writes what a container holds, as far apart as in the source.
func (w *writer) blocks(container ast.Node) {
	for n := container.FirstChild(); n != nil; n = n.NextSibling() {
		if d, ok := n.(*ast.LinkReferenceDefinition); ok && w.used[util.ToLinkReference(d.Label)] {
			continue
		}
		if n.PreviousSibling() != nil {
			w.gap(1 + w.emptyLinesBefore(n))
		}
		w.oneBlock(n)
	}
}

func (w *writer) oneBlock(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.depth[bold]++
		w.inlines(n)
		w.depth[bold]--
	case *ast.Paragraph, *ast.TextBlock:
		if w.nested == 0 {
			w.indent = w.indentAt(w.start(n))
		}
		w.inlines(n)
	case *ast.FencedCodeBlock:
		w.pre(w.lines(n.Lines()), language(string(n.Language(w.source))))
	case *ast.CodeBlock:
		w.pre(w.lines(n.Lines()), "")
	case *ast.Blockquote:
		w.quote(n)
	case *ast.List:
		w.list(n)
	case *ast.ThematicBreak:
		w.write(rule)
	case *ast.HTMLBlock:
		raw := w.lines(n.Lines())
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(w.source))
		}
		w.plain(raw)
	case *ast.LinkReferenceDefinition:
		w.plain(w.lines(n.Lines()))
	case *extast.Table:
		w.table(n)
	default:
		w.blocks(n)
	}
}

// pre writes a block of code.
func (w *writer) pre(s, lang string) {
	s = strings.Trim(strings.TrimRight(s, " \t\n"), "\n")
	w.ownLine()
	if !visible(s) {
		return
	}
	prefix := w.prefix
	w.prefix = ""
	w.flush()
	from := len(w.out)
	w.out = append(w.out, s...)
	w.block(Entity{Type: Pre, Language: lang}, from)
	w.prefix = prefix
}

// quote writes a quote. Telegram's cannot nest, so one within another has a sign before its lines.
func (w *writer) quote(n ast.Node) {
	w.ownLine()
	if !n.HasChildren() {
		return
	}
	prefix := w.prefix
	defer func() { w.prefix = prefix }()
	w.nested++
	defer func() { w.nested-- }()
	if w.quoted {
		w.prefix += "> "
		w.blocks(n)
		return
	}
	w.prefix = ""
	w.flush()
	from := len(w.out)
	w.quoted = true
	w.blocks(n)
	w.quoted = false
	e := Entity{Type: Quote}
	if said := w.out[from:]; len(said) > longQuoteBytes || strings.Count(string(said), "\n") >= longQuoteLines {
		e.Type = ExpandableQuote
	}
	w.block(e, from)
}

// list writes the items of a list, each behind its bullet or number.
func (w *writer) list(n *ast.List) {
	w.nested++
	defer func() { w.nested-- }()
	numbers := w.numbers(n)
	i := 0
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if i > 0 {
			w.gap(1 + w.emptyLinesBefore(item))
		}
		marker := "• "
		if n.ChildCount() == 1 && !item.HasChildren() {
			marker = string(n.Marker) + " " // a lone sign means itself
		}
		if numbers != nil {
			marker = numbers[i]
		}
		if box := checkBox(item); box != "" && numbers == nil {
			marker = box
		} else if box != "" {
			marker += box
		}
		w.item(item, marker)
		i++
	}
}

func (w *writer) item(n ast.Node, marker string) {
	prefix := w.prefix
	if w.lead == "" {
		w.lead = prefix
	}
	w.lead += marker
	w.prefix += strings.Repeat(" ", min(uniseg.StringWidth(marker), 8))
	w.blocks(n)
	if w.lead != "" { // an empty item
		w.lead = strings.TrimRight(w.lead, " ")
		w.flush()
	}
	w.prefix = prefix
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

// numbers returns what stands before the items of an ordered list. They keep their numbers, unless
// all have the same and leave the counting to the reader. Other lists have none.
func (w *writer) numbers(n *ast.List) []string {
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

// lines returns lines of the source as they stand.
func (w *writer) lines(segments *text.Segments) string { return string(segments.Value(w.source)) }

// plain writes text line by line, as it stands.
func (w *writer) plain(s string) {
	for i, line := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if i > 0 {
			w.newLine("")
		}
		w.write(line)
	}
}

// language takes the name of a language from the first word behind a fence.
func language(word string) string {
	i := 0
	for i < len(word) && i < 32 && (util.IsAlphaNumeric(word[i]) || strings.IndexByte("+-#._", word[i]) >= 0) {
		i++
	}
	return strings.ToLower(word[:i])
}

// start returns where a block starts in the source, or near it: goldmark counts a tab as the spaces
// it stands for, and places a heading at the line below it, if that is what makes it one.
func (w *writer) start(n ast.Node) int {
	switch n.(type) {
	case *ast.Heading, *ast.Paragraph, *ast.TextBlock, *ast.HTMLBlock, *ast.CodeBlock:
		if n.Lines().Len() > 0 {
			return n.Lines().At(0).Start
		}
	}
	return min(max(n.Pos(), 0), len(w.source))
}

// indentAt returns the white space between the start of a line and p.
func (w *writer) indentAt(p int) string {
	i := p
	for i > 0 && (w.source[i-1] == ' ' || w.source[i-1] == '\t') {
		i--
	}
	return string(w.source[i:p])
}

// emptyLinesBefore counts the empty lines between a block and the one before it. In a quote they
// hold its signs.
func (w *writer) emptyLinesBefore(n ast.Node) int {
	p, before := w.start(n), w.start(n.PreviousSibling())
	if p == before { // a table is placed where the paragraph before it starts
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
