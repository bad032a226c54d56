package telegram

import (
	"strings"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/entities"
)

// screenCaption is how long the text above a screen may be, in UTF-16 units. More would leave too
// little room for the rows.
const screenCaption = 1024

// cutScreen makes the parts of a message that shows a screen. Text that is too long to stand above
// the screen is sent before it, but for progress, which is one message: its text is cut.
func cutScreen(m channels.Message, most int64) []part {
	files, refused := sendable(m.Media, most)
	caption := entities.Read(m.Text)
	var parts []part
	if channels.UTF16(caption.Text) > screenCaption {
		if m.Kind == channels.Progress {
			caption = caption.Split(screenCaption, entities.Cost)[0]
			caption.Text += "…"
		} else {
			words := m
			words.Screen, words.Media, words.Buttons = nil, nil, nil
			parts, caption = cut(words, most), markdown.Text{}
		}
	}
	parts = append(parts, part{as: asText, words: screenWords(entities.Write(caption), m.Screen)})
	return below(append(parts, albums(files)...), markdown.Plain(refused), m.Buttons)
}

// screenWords renders a screen below its caption as one text that fits a message.
func screenWords(caption entities.Text, s *channels.Screen) entities.Text {
	const breaks = 4 // between caption, notes and rows
	view := s.View(channels.ScreenRoom{
		Limit:   textLimit - channels.UTF16(caption.Text) - 1 - channels.ViewNotes - breaks,
		Measure: channels.UTF16,
	})
	var b strings.Builder
	for _, line := range []string{caption.Text, view.NoteAbove()} {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	block := entities.Entity{Type: entities.Pre, Offset: channels.UTF16(b.String()), Length: channels.UTF16(view.Text)}
	b.WriteString(view.Text)
	if note := view.NoteBelow(); note != "" {
		b.WriteString("\n" + note)
	}
	// Telegram ignores what a message has beyond 100 entities.
	marks := caption.Entities[:min(len(caption.Entities), 99)]
	return entities.Text{Text: b.String(), Entities: append(marks[:len(marks):len(marks)], block)}
}
