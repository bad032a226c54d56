package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
)

const rule = "———"

// writer is a renderer that builds a plain text and its marks.
type writer struct {
	layout Layout
	out    []byte
	marks  []Mark

	prefix string // prefix of every line
	lead   string // replaces prefix on the next line: with the bullet of a list item
	marker int    // length of the bullet at the end of lead, in bytes
	indent string // follows prefix or lead on the next line
	breaks int    // line breaks before the next text

	open    []Mark // the open marks; those from pending on have no start yet
	pending int
	saved   []string // the prefixes of the enclosing lists and quotes
	nested  int      // number of open lists and quotes
	quotes  int
	code    bool // within a code block
}

// Begin starts an element.
func (w *writer) Begin(e Element) {
	if e.Gap > 0 {
		w.gap(e.Gap)
	}
	switch e.Kind {
	case Paragraph:
		if w.nested == 0 {
			w.indent = e.Indent
		}
	case Heading:
		w.begin(Mark{Kind: Heading, Level: e.Level})
	case CodeBlock:
		w.beginCode(e)
	case Quote:
		w.beginQuote()
	case Item:
		w.beginItem(e)
	case Rule:
		w.Text(rule)
	case Link:
		w.beginLink(e)
	case Bold, Italic, Strike, Spoiler, Code:
		w.begin(Mark{Kind: e.Kind})
	case AutoLink:
		if e.Brackets {
			w.begin(Mark{Kind: AutoLink})
		}
	default:
	}
}

// End ends an element.
func (w *writer) End(e Element) {
	switch e.Kind {
	case Heading, Bold, Italic, Strike, Spoiler, Code:
		w.end()
	case AutoLink:
		if e.Brackets {
			w.end()
		}
	case CodeBlock:
		w.endCode()
	case Quote:
		w.endQuote()
	case Item:
		w.endItem()
	case Link:
		w.endLink(e)
	default:
	}
}

// Text appends text.
func (w *writer) Text(s string) {
	if s == "" || w.code && !Visible(s) {
		return
	}
	w.flush()
	for ; w.pending < len(w.open); w.pending++ {
		w.open[w.pending].Start = len(w.out)
	}
	w.out = append(w.out, s...)
}

// Break breaks the line within a block.
func (w *writer) Break(indent string) {
	w.breaks++
	w.indent = indent
}

// begin opens a mark, which starts at the next text.
func (w *writer) begin(m Mark) { w.open = append(w.open, m) }

// end closes the innermost mark. A mark without text is dropped.
func (w *writer) end() {
	last := len(w.open) - 1
	m := w.open[last]
	w.open = w.open[:last]
	if w.pending > last {
		w.pending = last
		m.End = len(w.out)
		w.marks = append(w.marks, m)
	}
}

// gap ends a block. The next one starts after at least n line breaks.
func (w *writer) gap(n int) {
	w.breaks = max(w.breaks, n)
	w.indent = ""
}

// flush writes the pending line breaks and the start of the new line.
func (w *writer) flush() {
	if w.breaks == 0 && len(w.out) > 0 && w.lead == "" {
		return
	}
	if len(w.out) > 0 {
		w.out = append(w.out, strings.Repeat("\n", w.breaks)...)
	}
	for ; w.pending < len(w.open) && w.open[w.pending].Kind == Quote; w.pending++ {
		w.open[w.pending].Start = len(w.out) // a quote includes its bullets
	}
	if w.lead == "" {
		w.out = append(w.out, w.prefix...)
	}
	w.out = append(w.out, w.lead...)
	if w.marker > 0 {
		w.marks = append(w.marks, Mark{Kind: Marker, Start: len(w.out) - w.marker, End: len(w.out)})
	}
	w.out = append(w.out, w.indent...)
	w.lead, w.marker, w.indent, w.breaks = "", 0, "", 0
}

// ownLine makes the next text start a line without a bullet.
func (w *writer) ownLine() {
	if w.lead != "" {
		w.flushBullet()
		w.gap(1)
	}
}

// flushBullet writes a bullet without text after it.
func (w *writer) flushBullet() {
	bare := strings.TrimRight(w.lead, " ")
	w.marker = max(0, w.marker-(len(w.lead)-len(bare)))
	w.lead = bare
	w.flush()
}

// beginCode starts a code block, whose lines have no prefix.
func (w *writer) beginCode(e Element) {
	w.ownLine()
	w.save("")
	w.code = true
	w.begin(Mark{Kind: CodeBlock, Language: e.Language})
}

func (w *writer) endCode() {
	w.end()
	w.code = false
	w.restore()
}

// maxPrefix limits the prefix of lines in nested lists and quotes, in bytes. Without it a text of
// short lines could grow a hundredfold.
const maxPrefix = 40

func (w *writer) save(prefix string) {
	w.saved = append(w.saved, w.prefix)
	if len(prefix) <= maxPrefix {
		w.prefix = prefix
	}
}

func (w *writer) restore() {
	last := len(w.saved) - 1
	w.prefix, w.saved = w.saved[last], w.saved[:last]
}

// beginQuote starts a quote. A nested quote has "> " before its lines.
func (w *writer) beginQuote() {
	w.ownLine()
	w.nested++
	if w.quotes++; w.quotes > 1 {
		w.save(w.prefix + "> ")
		return
	}
	w.save("")
	w.begin(Mark{Kind: Quote})
}

func (w *writer) endQuote() {
	w.nested--
	if w.quotes--; w.quotes == 0 {
		w.end()
	}
	w.restore()
}

// beginItem starts a list item with its bullet, number or box.
func (w *writer) beginItem(e Element) {
	w.nested++
	marker := e.Number + e.Box
	switch {
	case e.Sign != "":
		marker = e.Sign + " " // the sign of a list without text is text itself
	case marker == "":
		marker = w.layout.Bullet
	}
	if w.lead == "" {
		w.lead = w.prefix
	}
	w.lead += marker
	w.marker += len(marker)
	w.save(w.prefix + strings.Repeat(" ", min(uniseg.StringWidth(marker), 8)))
}

func (w *writer) endItem() {
	if w.lead != "" { // an empty item
		w.flushBullet()
	}
	w.restore()
	w.nested--
}

// beginLink starts a link or image. A link within a link is text.
func (w *writer) beginLink(e Element) {
	w.flush()
	m := Mark{Kind: Link}
	if !e.Nested && w.layout.Target != nil {
		m.URL = w.layout.Target(e.URL)
	}
	w.begin(m)
	w.open[len(w.open)-1].Start = len(w.out) // the start of the link's own text, for endLink
}

// endLink ends a link. It appends the target if the link cannot be tapped, or a warning if the link
// shows another address.
func (w *writer) endLink(e Element) {
	if e.Nested {
		w.drop()
		return
	}
	m := w.open[len(w.open)-1]
	if !Visible(e.Label) {
		w.Text(ShownURL(e.URL))
	}
	if m.URL == "" {
		w.drop()
	} else {
		w.end()
	}
	switch {
	case e.Warning != "" && m.URL != "":
		w.Text(e.Warning)
		w.marks = append(w.marks, Mark{Kind: WarnedLink, Start: m.Start, End: len(w.out)})
	case m.URL == "" && e.URL != "" && Visible(e.Label) && e.Label != e.URL && !strings.HasPrefix(e.URL, "#"):
		w.Text(" (" + ShownURL(e.URL) + ")")
	}
}

// maxDataURL is the length to which a data: URL is shortened.
const maxDataURL = 100

// ShownURL returns a URL for people to read. It shortens data: URLs, which may have megabytes.
func ShownURL(u string) string {
	if len(u) <= maxDataURL || !strings.HasPrefix(strings.ToLower(u[:5]), "data:") {
		return u
	}
	return strings.ToValidUTF8(u[:maxDataURL], "") + "…"
}

// drop removes the innermost mark.
func (w *writer) drop() {
	w.open = w.open[:len(w.open)-1]
	w.pending = min(w.pending, len(w.open))
}

// In tables with more cells than maxLabelled, cells are not labelled with the names of their
// columns.
const (
	maxLabelled   = 500
	maxLabelWidth = 40
)

// Table writes a table in monospace. A table that is too wide becomes a paragraph per row, or a
// line per row if it also has many cells.
func (w *writer) Table(t Table) {
	if t.Gap > 0 {
		w.gap(t.Gap)
	}
	w.ownLine()
	if drawn, width := t.grid(w.layout.TableWidth); width <= w.layout.TableWidth {
		w.beginCode(Element{Kind: CodeBlock})
		w.Text(drawn)
		w.endCode()
		return
	}
	w.nested++
	defer func() { w.nested-- }()
	if len(t.Rows)*len(t.Aligns) > maxLabelled || len(t.Rows) == 1 {
		w.tableLines(t)
		return
	}
	var names []string
	for _, cell := range t.Rows[0] {
		names = append(names, cell.Plain())
	}
	for i, row := range t.Rows[1:] {
		if i > 0 {
			w.gap(2)
		}
		w.record(row, names)
	}
}

// record writes the first cell of a row in bold, and the other cells below it, each with the name
// of its column.
func (w *writer) record(row []Cell, names []string) {
	for i, cell := range row {
		if cell.Empty() {
			continue
		}
		w.gap(1)
		switch {
		case i == 0:
			w.begin(Mark{Kind: Bold})
			cell.Walk(w)
			w.end()
			continue
		case names[i] != "" && uniseg.StringWidth(names[i]) <= maxLabelWidth:
			w.bullet()
			w.Text(names[i] + ": ")
		default:
			w.bullet()
		}
		cell.Walk(w)
	}
}

func (w *writer) bullet() {
	w.begin(Mark{Kind: Marker})
	w.Text(w.layout.Bullet)
	w.end()
}

// tableLines writes one line per row.
func (w *writer) tableLines(t Table) {
	for i, row := range t.Rows {
		w.gap(1)
		if i == 0 {
			w.begin(Mark{Kind: Bold})
		}
		for c, cell := range row {
			if c > 0 {
				w.Text(" | ")
			}
			cell.Walk(w)
		}
		if i == 0 {
			w.end()
		}
	}
}
