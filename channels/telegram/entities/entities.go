// Package entities turns Markdown, as language models write it, into plain text with a list of
// Telegram message entities, and cuts such a text into parts. It knows nothing of the Bot API's
// calls.
package entities

import (
	"strings"

	"github.com/yuin/goldmark/text"
)

// The types of entity that Markdown can ask for, by their names in the Bot API.
const (
	Bold            = "bold"
	Italic          = "italic"
	Strikethrough   = "strikethrough"
	Spoiler         = "spoiler"
	Code            = "code"
	Pre             = "pre"
	Link            = "text_link"
	Quote           = "blockquote"
	ExpandableQuote = "expandable_blockquote"
)

// Entity is the formatting of a stretch of text. It encodes to JSON as a MessageEntity.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"` // in UTF-16 code units, like Length
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`      // of a text_link
	Language string `json:"language,omitempty"` // of a pre
}

// Text is a plain text with its formatting. Entities are sorted by their offset, the longer first.
// Two of them are apart or one holds the other; code and pre stand alone or within a quote.
type Text struct {
	Text     string   `json:"text"`
	Entities []Entity `json:"entities,omitempty"`
}

// Plain returns the text alone, for when Telegram refuses the entities.
func (t Text) Plain() Text { return Text{Text: t.Text} }

// Render reads Markdown. What a chat cannot show is put into words: a list gets bullets, a table
// becomes aligned monospace, or one paragraph a row when it is too wide for a phone. Line breaks
// stay line breaks and HTML is text. The text is empty only if nothing in the Markdown is visible.
func Render(markdown string) Text {
	source := clean(markdown)
	if !visible(source) {
		return Text{}
	}
	w := newWriter([]byte(source))
	document := commonMark.Parse(text.NewReader(w.source))
	w.findReferences(document)
	w.blocks(document)
	t := assemble(unmask(string(w.out), w.marks))
	if !visible(t.Text) { // nothing but Markdown's own signs, which had better be shown than lost
		return Text{Text: strings.TrimSpace(source)}
	}
	return t
}
