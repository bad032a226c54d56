package web

import (
	"fmt"
	"html"
	"net/url"
	"strings"

	"nanobot/channels/markdown"
	"nanobot/channels/web/highlight"
)

// htmlWriter renders Markdown as HTML.
type htmlWriter struct {
	out          []byte
	visible      bool             // the output has visible content
	literal      bool             // the current paragraph is not Markdown
	untaggedList bool             // the current list has no tag, because its only item is a list marker without text
	checkbox     string           // a checkbox to be written before the next text
	code         *strings.Builder // the current code block; nil: none
}

// The tags of inline elements. Spoilers keep their Markdown delimiters.
var (
	openTags = map[markdown.Kind]string{
		markdown.Bold: "<strong>", markdown.Italic: "<em>", markdown.Strike: "<del>", markdown.Code: "<code>",
		markdown.Spoiler: "||",
	}
	closeTags = map[markdown.Kind]string{
		markdown.Bold: "</strong>", markdown.Italic: "</em>", markdown.Strike: "</del>", markdown.Code: "</code>",
		markdown.Spoiler: "||",
	}
)

// Begin starts an element.
func (w *htmlWriter) Begin(e markdown.Element) {
	switch e.Kind {
	case markdown.Paragraph:
		switch w.literal = e.Literal; {
		case e.Literal: // the style sheet keeps its white space
			w.startBlock(`<p class="plain">`)
			w.Text(e.Indent)
		case !e.Tight:
			w.startBlock("<p>")
		}
		w.write(w.checkbox)
		w.checkbox = ""
	case markdown.Heading:
		w.startBlock(fmt.Sprintf("<h%d>", e.Level))
	case markdown.CodeBlock:
		w.startBlock("<pre><code" + attribute("class", "language-", e.Language) + ">")
		w.code = &strings.Builder{}
	case markdown.Quote:
		w.startBlock("<blockquote>\n")
	case markdown.List:
		w.beginList(e)
	case markdown.Item:
		w.beginItem(e)
	case markdown.Rule:
		w.startBlock("<hr>\n")
		w.visible = true
	case markdown.Link, markdown.AutoLink:
		w.beginLink(e)
	case markdown.Bold, markdown.Italic, markdown.Strike, markdown.Spoiler, markdown.Code:
		w.write(openTags[e.Kind])
	case markdown.Marker, markdown.WarnedLink:
	}
}

// End ends an element.
func (w *htmlWriter) End(e markdown.Element) {
	switch e.Kind {
	case markdown.Paragraph:
		if !e.Tight {
			w.write("</p>\n")
		}
	case markdown.Heading:
		w.write(fmt.Sprintf("</h%d>\n", e.Level))
	case markdown.CodeBlock:
		w.write(highlight.HTML(e.Language, w.code.String()) + "\n</code></pre>\n")
		w.code = nil
	case markdown.Quote:
		w.write("</blockquote>\n")
	case markdown.List:
		w.endList(e)
	case markdown.Item:
		w.endItem()
	case markdown.Link, markdown.AutoLink:
		w.endLink(e)
	case markdown.Bold, markdown.Italic, markdown.Strike, markdown.Spoiler, markdown.Code:
		w.write(closeTags[e.Kind])
	case markdown.Rule, markdown.Marker, markdown.WarnedLink:
	}
}

// Text writes escaped text.
func (w *htmlWriter) Text(s string) {
	w.visible = w.visible || markdown.Visible(s)
	if w.code != nil {
		w.code.WriteString(s)
		return
	}
	w.write(html.EscapeString(s))
}

// Break writes a line break. In Markdown the indentation is ignored, because HTML shows it only in
// code.
func (w *htmlWriter) Break(indent string) {
	if w.literal { // a line feed would be a second line break
		w.write("<br>" + indent)
		return
	}
	w.write("<br>\n")
}

func (w *htmlWriter) write(s string) { w.out = append(w.out, s...) }

// startBlock starts a block element on a line of its own.
func (w *htmlWriter) startBlock(tag string) {
	if n := len(w.out); n > 0 && w.out[n-1] != '\n' {
		w.write("\n")
	}
	w.write(tag)
}

// attribute returns an attribute of a tag, or "" if its value is empty.
func attribute(name, prefix, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + prefix + html.EscapeString(value) + `"`
}

func (w *htmlWriter) beginList(e markdown.Element) {
	switch {
	case !e.Ordered: // the first item decides whether it is a list
		w.untaggedList = true
	case e.Start == 1:
		w.startBlock("<ol>\n")
	default:
		w.startBlock(fmt.Sprintf("<ol start=\"%d\">\n", e.Start))
	}
}

func (w *htmlWriter) endList(e markdown.Element) {
	switch {
	case w.untaggedList:
		w.untaggedList = false
	case e.Ordered:
		w.write("</ol>\n")
	default:
		w.write("</ul>\n")
	}
}

// beginItem starts an item. A text that consists of a list marker such as + alone shows the marker.
func (w *htmlWriter) beginItem(e markdown.Element) {
	if e.Sign != "" {
		w.startBlock("<p>")
		w.Text(e.Sign)
		w.write("</p>\n")
		return
	}
	if w.untaggedList {
		w.untaggedList = false
		w.startBlock("<ul>\n")
	}
	w.write("<li>")
	switch e.Box {
	case "":
	case "☑ ":
		w.checkbox = `<input checked="" disabled="" type="checkbox"> `
	default:
		w.checkbox = `<input disabled="" type="checkbox"> `
	}
}

func (w *htmlWriter) endItem() {
	if !w.untaggedList {
		w.write("</li>\n")
	}
}

// Table writes a table.
func (w *htmlWriter) Table(t markdown.Table) {
	w.startBlock("<table>\n<thead>\n")
	w.writeRow(t, 0, "th")
	w.write("</thead>\n")
	if len(t.Rows) > 1 {
		w.write("<tbody>\n")
		for i := 1; i < len(t.Rows); i++ {
			w.writeRow(t, i, "td")
		}
		w.write("</tbody>\n")
	}
	w.write("</table>\n")
}

func (w *htmlWriter) writeRow(t markdown.Table, row int, tag string) {
	w.write("<tr>\n")
	for i, cell := range t.Rows[row] {
		align := [...]string{
			markdown.AlignNone: "", markdown.AlignLeft: "left", markdown.AlignCenter: "center",
			markdown.AlignRight: "right",
		}
		w.write("<" + tag + attribute("align", "", align[t.Aligns[i]]) + ">")
		cell.Walk(w)
		w.write("</" + tag + ">\n")
	}
	w.write("</tr>\n")
}

// beginLink starts a link. A picture becomes a link, too, since the page loads nothing from other
// servers. A link within a link becomes text.
func (w *htmlWriter) beginLink(e markdown.Element) {
	if href := safeURL(e.URL); href != "" && !e.Nested {
		w.write("<a" + attribute("href", "", href) + ">")
	}
}

// endLink ends a link. After a link that must not be followed its target is written; after any
// other link, the warning about its text, if there is one.
func (w *htmlWriter) endLink(e markdown.Element) {
	if e.Nested {
		return
	}
	isEmpty := e.Kind == markdown.Link && !markdown.Visible(e.Label)
	if isEmpty {
		w.Text(markdown.ShownURL(e.URL))
	}
	switch {
	case safeURL(e.URL) != "":
		w.write("</a>" + html.EscapeString(e.Warning))
	case e.Kind == markdown.Link && !isEmpty && e.URL != "" && e.Label != markdown.ShownURL(e.URL) &&
		!strings.HasPrefix(e.URL, "#"):
		w.Text(" (" + markdown.ShownURL(e.URL) + ")")
	}
}

// safeURL returns the URL of a link, or "" if the link must not be followed: an answer must not
// link to the page's own API or to anything that a browser would execute.
func safeURL(destination string) string {
	if strings.HasPrefix(destination, "www.") {
		destination = "http://" + destination
	}
	u, err := url.Parse(strings.ReplaceAll(destination, " ", "%20"))
	switch {
	case err != nil:
		return ""
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", u.Scheme == "mailto":
		return u.String()
	}
	return ""
}
