package turn

import (
	"strings"

	"nanobot/channels"
	"nanobot/terminal"
)

// maxHeardShown and maxHeardLines are how much of a file's text the person sees, in characters and
// lines.
const maxHeardShown, maxHeardLines = 1000, 20

// heardText returns what was understood of a person's files as quotes, with the files' names if
// there are several.
func heardText(all []terminal.Heard) string {
	var parts []string
	for _, h := range all {
		if h.Problem != "" {
			parts = append(parts, channels.EscapeMarkdown(h.Problem))
			continue
		}
		lines := strings.Split(channels.EscapeMarkdown(terminal.Shorten(h.Text, maxHeardShown)), "\n")
		if len(lines) > maxHeardLines {
			lines = append(lines[:maxHeardLines], "…")
		}
		for i, line := range lines {
			lines[i] = "> " + strings.TrimSpace(line) // an indented line would be code
		}
		text := strings.Join(lines, "\n")
		if len(all) > 1 {
			text = "> **" + channels.EscapeMarkdown(h.Name) + "**\n" + text
		}
		parts = append(parts, text)
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
