package web

import (
	"fmt"
	"html"
	"net/url"
	"strings"

	"nanobot/channels/markdown"
)

// htmlWriter is a renderer of Markdown that writes HTML.
type htmlWriter struct {
	out     []byte
	visible bool   // something can be seen of it
	lone    bool   // the list that began last has no tag: its only item is a sign alone
	box     string // a check box to be written before the next words

	links int             // links that are open, within one another
	href  string          // where the outermost leads, or ""
	said  strings.Builder // the words of the outermost
}

// The elements that stand for what is within a line. Spoilers are shown as they are written.
var (
	begins = map[markdown.Kind]string{
		markdown.Bold: "<strong>", markdown.Italic: "<em>", markdown.Strike: "<del>", markdown.Code: "<code>", markdown.Spoiler: "||",
	}
	ends = map[markdown.Kind]string{
		markdown.Bold: "</strong>", markdown.Italic: "</em>", markdown.Strike: "</del>", markdown.Code: "</code>", markdown.Spoiler: "||",
	}
)

// Begin starts an element.
func (w *htmlWriter) Begin(e markdown.Element) {
	switch e.Kind {
	case markdown.Paragraph:
		if !e.Tight {
			w.block("<p>")
		}
		w.write(w.box)
		w.box = ""
	case markdown.Heading:
		w.block(fmt.Sprintf("<h%d>", e.Level))
	case markdown.CodeBlock:
		w.block("<pre><code" + attribute("class", "language-", e.Language) + ">")
	case markdown.Quote:
		w.block("<blockquote>\n")
	case markdown.List:
		w.beginList(e)
	case markdown.Item:
		w.beginItem(e)
	case markdown.Rule:
		w.block("<hr>\n")
		w.visible = true
	case markdown.Link, markdown.AutoLink:
		w.beginLink(e)
	case markdown.Bold, markdown.Italic, markdown.Strike, markdown.Spoiler, markdown.Code:
		w.write(begins[e.Kind])
	case markdown.Marker, markdown.NotedLink:
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
		w.write("\n</code></pre>\n")
	case markdown.Quote:
		w.write("</blockquote>\n")
	case markdown.List:
		w.endList(e)
	case markdown.Item:
		w.endItem()
	case markdown.Link, markdown.AutoLink:
		w.endLink(e)
	case markdown.Bold, markdown.Italic, markdown.Strike, markdown.Spoiler, markdown.Code:
		w.write(ends[e.Kind])
	case markdown.Rule, markdown.Marker, markdown.NotedLink:
	}
}

// Text adds words.
func (w *htmlWriter) Text(s string) {
	w.visible = w.visible || markdown.Visible(s)
	if w.links > 0 {
		w.said.WriteString(s)
	}
	w.write(html.EscapeString(s))
}

// Break breaks a line. HTML has no indentation but in code.
func (w *htmlWriter) Break(string) { w.write("<br>\n") }

func (w *htmlWriter) write(s string) { w.out = append(w.out, s...) }

// block starts a block on a line of its own.
func (w *htmlWriter) block(tag string) {
	if n := len(w.out); n > 0 && w.out[n-1] != '\n' {
		w.write("\n")
	}
	w.write(tag)
}

// attribute writes an attribute of a tag, unless its value is empty.
func attribute(name, prefix, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + prefix + html.EscapeString(value) + `"`
}

func (w *htmlWriter) beginList(e markdown.Element) {
	switch {
	case !e.Ordered: // its first item says whether it is a list
		w.lone = true
	case e.Start == 1:
		w.block("<ol>\n")
	default:
		w.block(fmt.Sprintf("<ol start=\"%d\">\n", e.Start))
	}
}

func (w *htmlWriter) endList(e markdown.Element) {
	switch {
	case w.lone:
		w.lone = false
	case e.Ordered:
		w.write("</ol>\n")
	default:
		w.write("</ul>\n")
	}
}

// beginItem starts an item. A text that is a sign such as + alone means the sign.
func (w *htmlWriter) beginItem(e markdown.Element) {
	if e.Sign != "" {
		w.block("<p>")
		w.Text(e.Sign)
		w.write("</p>\n")
		return
	}
	if w.lone {
		w.lone = false
		w.block("<ul>\n")
	}
	w.write("<li>")
	switch e.Box {
	case "":
	case "☑ ":
		w.box = `<input checked="" disabled="" type="checkbox"> `
	default:
		w.box = `<input disabled="" type="checkbox"> `
	}
}

func (w *htmlWriter) endItem() {
	if !w.lone {
		w.write("</li>\n")
	}
}

// Table writes a table.
func (w *htmlWriter) Table(t markdown.Table) {
	w.block("<table>\n<thead>\n")
	w.row(t, 0, "th")
	w.write("</thead>\n")
	if len(t.Rows) > 1 {
		w.write("<tbody>\n")
		for i := 1; i < len(t.Rows); i++ {
			w.row(t, i, "td")
		}
		w.write("</tbody>\n")
	}
	w.write("</table>\n")
}

func (w *htmlWriter) row(t markdown.Table, row int, tag string) {
	w.write("<tr>\n")
	for i, cell := range t.Rows[row] {
		align := [...]string{markdown.AlignNone: "", markdown.AlignLeft: "left", markdown.AlignCenter: "center", markdown.AlignRight: "right"}
		w.write("<" + tag + attribute("align", "", align[t.Aligns[i]]) + ">")
		cell.Walk(w)
		w.write("</" + tag + ">\n")
	}
	w.write("</tr>\n")
}

// beginLink starts a link, or a picture, which is one: the page shows nothing from elsewhere. A
// link within a link is text.
func (w *htmlWriter) beginLink(e markdown.Element) {
	if w.links++; w.links > 1 {
		return
	}
	w.said.Reset()
	if w.href = href(e.URL); w.href != "" {
		w.write("<a" + attribute("href", "", w.href) + ">")
	}
}

// endLink ends a link. Where it leads is written behind it if it cannot be followed, or if it shows
// another address.
func (w *htmlWriter) endLink(e markdown.Element) {
	if w.links--; w.links > 0 {
		return
	}
	said := strings.TrimSpace(w.said.String())
	if !markdown.Visible(said) {
		said = markdown.ShownURL(e.URL)
		w.Text(said)
	}
	switch {
	case w.href != "":
		w.write("</a>" + html.EscapeString(e.Note))
	case e.Kind == markdown.Link && e.URL != "" && said != markdown.ShownURL(e.URL) && !strings.HasPrefix(e.URL, "#"):
		w.Text(" (" + markdown.ShownURL(e.URL) + ")")
	}
}

// href returns the URL that a destination leads to, or "" if nobody should follow it from here: the
// bot's words lead neither to the page's own API nor to anything that a browser would run.
func href(destination string) string {
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
