package markdown

import (
	"strings"

	"nanobot/channels"
)

// Destination is a link or an image of a text.
type Destination struct {
	Text string // what the reader sees
	URL  string // with its escapes and references resolved
}

// maxLinkText limits the text of a Destination, in bytes.
const maxLinkText = 1000

// Links returns the links and images of a Markdown text in reading order, without bare addresses.
// Code has none.
func Links(source string) []Destination {
	if !strings.Contains(source, "](") && !strings.Contains(source, "][") && !strings.Contains(source, "<") {
		return nil // most texts have no link, and need not be parsed
	}
	l := &linkList{}
	Walk(source, channels.Markdown, l)
	return l.links
}

// linkList is a renderer that collects links.
type linkList struct {
	links []Destination
	open  []int // the links that are open, as indexes of links
}

func (l *linkList) Begin(e Element) {
	if isExplicitLink(e) {
		l.open = append(l.open, len(l.links))
		l.links = append(l.links, Destination{URL: e.URL})
	}
}

func (l *linkList) End(e Element) {
	if isExplicitLink(e) {
		l.open = l.open[:len(l.open)-1]
	}
}

func (l *linkList) Text(s string) {
	for _, i := range l.open {
		if len(l.links[i].Text) < maxLinkText {
			l.links[i].Text += s
		}
	}
}

func (l *linkList) Break(string) { l.Text(" ") }

func (l *linkList) Table(t Table) {
	for _, row := range t.Rows {
		for _, cell := range row {
			cell.Walk(l)
		}
	}
}

// isExplicitLink reports whether an element is a link, an image, or an address in angle brackets.
func isExplicitLink(e Element) bool { return e.Kind == Link || e.Kind == AutoLink && e.Brackets }
