package entities

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

// The limits of a rich message, with some room below them.
const (
	maxRichText    = 32000 // of 32768 characters
	maxRichBlocks  = 480   // of 500, with list items and table rows
	maxRichNesting = 15    // of 16
	maxRichColumns = 20
)

// Rich renders Markdown as the HTML of a rich message. structured reports whether it has tables,
// headings or task lists, which a message with entities cannot show. The HTML is "" if the Markdown
// does not fit a rich message.
func Rich(source string) (code string, structured bool) {
	w := &richWriter{}
	markdown.Walk(clean(source), channels.Markdown, w)
	if w.tooLarge || w.characters > maxRichText || w.blocks > maxRichBlocks || w.characters == 0 {
		return "", w.structured
	}
	return w.out.String(), w.structured
}

// richWriter writes Markdown as HTML. Telegram has blocks only at the top level, in list items and
// in quotes.
type richWriter struct {
	out        strings.Builder
	depth      int
	blocks     int
	characters int
	nested     int // open quotes and list items, which have no headings
	structured bool
	tooLarge   bool
	inCode     bool
}

var richTags = map[markdown.Kind]string{
	markdown.Quote: "blockquote", markdown.Item: "li", markdown.Bold: "b", markdown.Italic: "i",
	markdown.Strike: "s", markdown.Spoiler: "tg-spoiler", markdown.Code: "code",
}

// Begin writes the start of an element.
func (w *richWriter) Begin(e markdown.Element) {
	if w.depth++; w.depth > maxRichNesting {
		w.tooLarge = true
	}
	if e.Kind <= markdown.Rule {
		w.blocks++
	}
	switch e.Kind {
	case markdown.Heading:
		w.structured = true
		w.out.WriteString(w.headingTag("<", e.Level))
	case markdown.Paragraph:
		w.out.WriteString(paragraphTag("<p>", e))
	case markdown.Quote:
		w.nested++
		w.out.WriteString("<blockquote>")
	case markdown.CodeBlock:
		w.inCode = true
		w.out.WriteString("<pre><code" + languageClass(e.Language) + ">")
	case markdown.List:
		w.out.WriteString(listTag(e))
	case markdown.Item:
		w.nested++
		w.out.WriteString("<li>")
		w.checkBox(e.Box)
	case markdown.Rule:
		w.out.WriteString("<hr/>")
	case markdown.Link:
		w.beginLink(e)
	case markdown.AutoLink:
	default:
		w.out.WriteString("<" + richTags[e.Kind] + ">")
	}
}

// End writes the end of an element.
func (w *richWriter) End(e markdown.Element) {
	w.depth--
	switch e.Kind {
	case markdown.Heading:
		w.out.WriteString(w.headingTag("</", e.Level))
	case markdown.Paragraph:
		w.out.WriteString(paragraphTag("</p>", e))
	case markdown.Quote, markdown.Item:
		w.nested--
		w.out.WriteString("</" + richTags[e.Kind] + ">")
	case markdown.CodeBlock:
		w.inCode = false
		w.out.WriteString("</code></pre>")
	case markdown.List:
		w.out.WriteString(map[bool]string{true: "</ol>", false: "</ul>"}[e.Ordered])
	case markdown.Link:
		w.endLink(e)
	case markdown.Rule, markdown.AutoLink:
	default:
		w.out.WriteString("</" + richTags[e.Kind] + ">")
	}
}

// headingTag returns the tag of a heading, which within a list or quote is a bold line.
func (w *richWriter) headingTag(open string, level int) string {
	switch {
	case w.nested == 0:
		return fmt.Sprintf("%sh%d>", open, level)
	case open == "<":
		return "<p><b>"
	}
	return "</b></p>"
}

// paragraphTag returns the tag of a paragraph. In a list without empty lines an item has none.
func paragraphTag(tag string, e markdown.Element) string {
	if e.Tight {
		return ""
	}
	return tag
}

// beginLink opens a link, unless it cannot be tapped or is an image in a link.
func (w *richWriter) beginLink(e markdown.Element) {
	if to := target(e.URL); to != "" && !e.Nested {
		w.out.WriteString(`<a href="` + html.EscapeString(to) + `">`)
	}
}

// endLink closes a link. It writes the destination of a link that has no text or cannot be tapped,
// and a warning after one that shows another address.
func (w *richWriter) endLink(e markdown.Element) {
	if e.Nested {
		return
	}
	if !markdown.Visible(e.Label) {
		w.Text(markdown.ShownURL(e.URL))
	}
	switch {
	case target(e.URL) != "":
		w.out.WriteString("</a>")
		w.Text(e.Warning)
	case e.URL != "" && markdown.Visible(e.Label) && e.Label != e.URL && !strings.HasPrefix(e.URL, "#"):
		w.Text(" (" + markdown.ShownURL(e.URL) + ")")
	}
}

// Text writes text.
func (w *richWriter) Text(s string) {
	w.characters += utf8.RuneCountInString(s)
	w.out.WriteString(html.EscapeString(s))
}

// Break writes the end of a line.
func (w *richWriter) Break(string) {
	if w.inCode {
		w.out.WriteString("\n")
		return
	}
	w.out.WriteString("<br>")
}

// Table writes a table.
func (w *richWriter) Table(t markdown.Table) {
	w.structured = true
	w.blocks++
	w.depth += 3
	if len(t.Aligns) > maxRichColumns || w.depth > maxRichNesting {
		w.tooLarge = true
	}
	w.out.WriteString("<table bordered striped>")
	for i, row := range t.Rows {
		w.blocks++
		w.out.WriteString("<tr>")
		tag := map[bool]string{true: "th", false: "td"}[i == 0]
		for c, cell := range row {
			w.out.WriteString("<" + tag + alignment(t.Aligns[c]) + ">")
			cell.Walk(w)
			w.out.WriteString("</" + tag + ">")
		}
		w.out.WriteString("</tr>")
	}
	w.out.WriteString("</table>")
	w.depth -= 3
}

// checkBox writes the box of a task.
func (w *richWriter) checkBox(box string) {
	if box == "" {
		return
	}
	w.structured = true
	w.out.WriteString(map[bool]string{
		true:  `<input type="checkbox" checked>`,
		false: `<input type="checkbox">`,
	}[strings.HasPrefix(box, "☑")])
}

func alignment(a markdown.Align) string {
	return map[markdown.Align]string{
		markdown.AlignLeft: ` align="left"`, markdown.AlignCenter: ` align="center"`,
		markdown.AlignRight: ` align="right"`,
	}[a]
}

func languageClass(language string) string {
	if language == "" {
		return ""
	}
	return ` class="language-` + html.EscapeString(language) + `"`
}

func listTag(e markdown.Element) string {
	switch {
	case !e.Ordered:
		return "<ul>"
	case e.Start != 1:
		return fmt.Sprintf(`<ol start="%d">`, e.Start)
	}
	return "<ol>"
}
