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

// maxLinkText limits the text of a Destination, in characters.
const maxLinkText = 1000

// Links returns the links and images of a Markdown text in reading order, without bare addresses.
// Code has none.
func Links(source string) (all []Destination) {
	if !strings.Contains(source, "](") && !strings.Contains(source, "][") && !strings.Contains(source, "<") {
		return nil // most texts have no link, and need not be parsed
	}
	shown := &visibleText{collects: isExplicitLink}
	Walk(source, channels.Markdown, shown)
	text := shown.text.String()
	for _, l := range shown.links {
		all = append(all, Destination{
			Text: head(strings.ReplaceAll(text[l.Start:l.End], "\n", " "), maxLinkText),
			URL:  l.Target,
		})
	}
	return all
}

// isExplicitLink reports whether an element is a link, an image, or an address in angle brackets.
func isExplicitLink(e Element) bool { return e.Kind == Link || e.Kind == AutoLink && e.Brackets }
