package turn

import (
	"strings"

	"nanobot/channels"
	"nanobot/terminal"
)

// maxHeardShown is how much of a file's text the person sees, in characters.
const maxHeardShown = 1000

// heardText returns what was understood of a person's files as quotes, with the files' names if
// there are several.
func heardText(all []terminal.Heard) string {
	var parts []string
	for _, h := range all {
		if h.Problem != "" {
			parts = append(parts, h.Problem)
			continue
		}
		text := channels.EscapeMarkdown(terminal.Shorten(h.Text, maxHeardShown))
		if len(all) > 1 {
			text = "**" + channels.EscapeMarkdown(terminal.OneLine(h.Name, maxQuote)) + "**\n" + text
		}
		parts = append(parts, "> "+strings.ReplaceAll(text, "\n", "\n> "))
	}
	return strings.Join(parts, "\n\n")
}

// hears reports whether files of a message become text before a turn of their own.
func (p *people) hears(in channels.Incoming) bool {
	r, ok := p.settings.Runner.(interface {
		Hears(media, names []string) bool
	})
	return ok && r.Hears(in.Media, in.MediaNames)
}
