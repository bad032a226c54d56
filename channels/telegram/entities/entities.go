// Package entities renders a formatted text in Telegram's form: a plain text with a list of message
// entities. It knows nothing of the Bot API's calls.
package entities

import (
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/internal/words"
)

// Entity is the formatting of a range of text, in UTF-16 units.
type Entity = models.MessageEntity

// Text is a plain text with its formatting. Entities are sorted by their offset, the longer first,
// and any two are nested or disjoint. Only a quote may contain code and pre.
type Text struct {
	Text     string   `json:"text"`
	Entities []Entity `json:"entities,omitempty"`
}

// Plain returns the text without its entities, for the case that Telegram refuses them.
func (t Text) Plain() Text { return Text{Text: t.Text} }

// layout is the layout of Markdown on Telegram.
var layout = markdown.Layout{Target: target}

// Cost measures a text as Telegram does: in UTF-16 units, with formatting for free.
var Cost = markdown.Cost{Words: channels.UTF16}

// Read parses a text in a format.
func Read(source string, format channels.Format) markdown.Text {
	return layout.As(format).Text(clean(source))
}

// Beginning returns the beginning of a text that is sent as a document.
func Beginning(source string, format channels.Format, limit int, w words.Words) markdown.Text {
	return layout.As(format).Beginning(clean(source), limit, Cost, w)
}

// clean removes bidirectional embeddings and overrides, as Telegram's servers do before they count.
func clean(source string) string {
	source = strings.ToValidUTF8(source, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if '\u202a' <= r && r <= '\u202e' {
			return -1
		}
		return r
	}, source)
}

// Split splits a text into parts of at most limit UTF-16 units.
func Split(t markdown.Text, limit int) []Text {
	var parts []Text
	for _, p := range t.Split(limit, Cost) {
		parts = append(parts, Write(p))
	}
	return parts
}

// Telegram ignores all entities of a message after the first 100.
const maxEntities = 100

// Write turns marks into entities. If there are more than 100, it drops the least important ones,
// because Telegram would drop the last ones.
func Write(t markdown.Text) Text {
	return Text{Text: t.Text, Entities: prune(toEntities(t.Text, keepSupported(t)), maxEntities)}
}

// priority orders the types of entities from the most important to the least.
var priority = map[models.MessageEntityType]int{
	models.MessageEntityTypeSpoiler: 0, models.MessageEntityTypeTextLink: 1, models.MessageEntityTypePre: 2,
	models.MessageEntityTypeBlockquote: 3, models.MessageEntityTypeExpandableBlockquote: 3,
	models.MessageEntityTypeCode: 4,
	models.MessageEntityTypeBold: 5, models.MessageEntityTypeStrikethrough: 5, models.MessageEntityTypeItalic: 6,
}

// prune keeps the most important entities.
func prune(all []Entity, most int) []Entity {
	if len(all) <= most {
		return slices.Clip(all)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return priority[all[a].Type] - priority[all[b].Type] })
	order = order[:most]
	slices.Sort(order)
	kept := make([]Entity, len(order))
	for i, at := range order {
		kept[i] = all[at]
	}
	return kept
}
