package entities

import (
	"strings"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

// minDetails is the least room for details, in UTF-16 units. Less would show nothing of use.
const minDetails = 24

// AppendDetails adds Markdown below a text as a quote that Telegram shows folded. What does not fit
// within limit UTF-16 units is cut off; without any room the text stays as it is.
func AppendDetails(t Text, source string, limit int) Text {
	if t.Text != "" {
		t.Text += "\n"
	}
	start := channels.UTF16(t.Text)
	details := cutDetails(withoutQuotes(Read(source, channels.Markdown)), limit-start)
	if details.Text == "" {
		t.Text = strings.TrimSuffix(t.Text, "\n")
		return t
	}
	quote := Entity{
		Type: models.MessageEntityTypeExpandableBlockquote, Offset: start,
		Length: channels.UTF16(details.Text),
	}
	all := append(prune(t.Entities, maxEntities-1), quote)
	for _, e := range prune(toEntities(details.Text, keepSupported(details)), maxEntities-len(all)) {
		e.Offset += start
		all = append(all, e)
	}
	return Text{Text: t.Text + details.Text, Entities: all}
}

// cutDetails returns the beginning of a text that has at most room UTF-16 units.
func cutDetails(t markdown.Text, room int) markdown.Text {
	if room < minDetails {
		return markdown.Text{}
	}
	if channels.UTF16(t.Text) <= room {
		return t
	}
	t = t.Split(room-1, Cost)[0]
	t.Text += "…"
	return t
}

// withoutQuotes removes the marks of quotes: Telegram shows no quote within a quote.
func withoutQuotes(t markdown.Text) markdown.Text {
	var kept []markdown.Mark
	for _, m := range t.Marks {
		if m.Kind != markdown.Quote {
			kept = append(kept, m)
		}
	}
	return markdown.Text{Text: t.Text, Marks: kept}
}
