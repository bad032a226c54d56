package discord

import (
	"strings"

	"nanobot/channels"
)

// screenCaption is how long the text above a screen may be, in code points. More would leave too
// little room for the rows.
const screenCaption = 500

// cutScreen makes the parts of a message that shows a screen. Text that is too long to stand above
// the screen is sent before it, but for progress, which is one message: its text is cut.
func cutScreen(m channels.Message) []part {
	words := layout.Text(m.Text)
	caption := write(words)
	var parts []part
	if channels.Runes(caption) > screenCaption {
		if m.Kind == channels.Progress {
			caption = split(words, screenCaption)[0] + "…"
		} else {
			above := m
			above.Screen, above.Media = nil, nil
			parts, caption = cut(above), ""
		}
	}
	files, refused := sendable(m.Media)
	shown := part{text: screenText(caption, m.Screen)}
	groups := grouped(files)
	if len(groups) > 0 {
		shown.files, groups = groups[0], groups[1:]
	}
	parts = append(parts, shown)
	for _, g := range groups {
		parts = append(parts, part{files: g})
	}
	if refused != "" {
		parts = say(parts, refused)
	}
	return parts
}

// screenText renders a screen below its caption as one text that fits a message.
func screenText(caption string, s *channels.Screen) string {
	const open, shut = "```\n", "\n```"
	const breaks = 4 // between caption, notes and rows
	view := s.View(channels.ScreenRoom{
		Limit:   textLimit - channels.Runes(caption) - len(open) - len(shut) - channels.ViewNotes - breaks,
		Measure: channels.Runes,
		// Backticks would end the block: they are written as accents that look alike.
		Escape: func(row string) string { return strings.ReplaceAll(row, "```", strings.Repeat(lookalike, 3)) },
	})
	var lines []string
	for _, line := range []string{caption, view.NoteAbove(), open + view.Text + shut, view.NoteBelow()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
