package discord

import (
	"strings"

	"nanobot/channels"
	"nanobot/internal/words"
)

// maxScreenCaption is the longest text above a screen, in code points. More would leave too little
// space for the rows.
const maxScreenCaption = 500

// splitScreen returns the parts of a message that shows a screen. Text too long for a caption is
// sent before the screen; in progress, which is one message, it is shortened.
func splitScreen(m channels.Message, w words.Words) []messagePart {
	text := layout.As(m.Format).Text(m.Text)
	caption := write(text)
	var parts []messagePart
	if channels.Runes(caption) > maxScreenCaption {
		if m.Kind == channels.Progress {
			caption = split(text, maxScreenCaption)[0] + "…"
		} else {
			above := m
			above.Screen, above.Media = nil, nil
			parts, caption = splitMessage(above, w), ""
		}
	}
	files, refused := channels.DropOversized(m.Media, maxUploadLimit, describeLimit(w, maxUploadLimit), w)
	shown := messagePart{text: screenText(caption, m.Screen, w)}
	groups := channels.GroupFiles(files, maxFiles, baseUploadLimit)
	if len(groups) > 0 {
		shown.files, groups = groups[0], groups[1:]
	}
	parts = append(parts, shown)
	for _, g := range groups {
		parts = append(parts, messagePart{files: g})
	}
	if len(refused) > 0 {
		parts = appendNotice(parts, strings.Join(refused, "\n"))
	}
	return parts
}

// screenText renders a screen below its caption as one text that fits a message.
func screenText(caption string, s *channels.Screen, w words.Words) string {
	const open, shut = "```\n", "\n```"
	const breaks = 4 // between caption, notes and rows
	view := s.View(channels.ViewOptions{
		Limit:   textLimit - channels.Runes(caption) - len(open) - len(shut) - channels.MaxViewNotes(w) - breaks,
		Measure: channels.Runes, Words: w,
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
