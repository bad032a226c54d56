package sending

import (
	"strings"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/words"
)

// maxScreenCaption is the longest text above a screen, in UTF-16 units. More would leave too little
// space for the rows.
const maxScreenCaption = 1024

// splitScreen returns the parts of a message that shows a screen. Text too long for a caption is
// sent before the screen; in progress, which is one message, it is shortened.
func (s splitter) splitScreen(m channels.Message) []messagePart {
	files, refused := s.dropOversized(m.Media)
	caption := entities.Read(m.Text, m.Format)
	var parts []messagePart
	if channels.UTF16(caption.Text) > maxScreenCaption {
		if m.Kind == channels.Progress {
			caption = caption.Split(maxScreenCaption, entities.Cost)[0]
			caption.Text += "…"
		} else {
			words := m
			words.Screen, words.Media, words.Buttons = nil, nil, nil
			parts, caption = s.split(words), markdown.Text{}
		}
	}
	parts = append(parts, messagePart{sendAs: asText, text: renderScreen(entities.Write(caption), m.Screen, s.words)})
	return appendText(append(parts, s.groupFiles(files)...), markdown.Plain(refused), m.Buttons)
}

// renderScreen renders a screen below its caption as one text that fits a message.
func renderScreen(caption entities.Text, s *channels.Screen, w words.Words) entities.Text {
	const breaks = 4 // between caption, notes and rows
	view := s.View(channels.ViewOptions{
		Limit:   textLimit - channels.UTF16(caption.Text) - 1 - channels.MaxViewNotes(w) - breaks,
		Measure: channels.UTF16, Words: w,
	})
	var b strings.Builder
	for _, line := range []string{caption.Text, view.NoteAbove()} {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	block := entities.Entity{
		Type: models.MessageEntityTypePre, Offset: channels.UTF16(b.String()),
		Length: channels.UTF16(view.Text),
	}
	b.WriteString(view.Text)
	if note := view.NoteBelow(); note != "" {
		b.WriteString("\n" + note)
	}
	// Telegram ignores what a message has beyond 100 entities.
	marks := caption.Entities[:min(len(caption.Entities), 99)]
	return entities.Text{Text: b.String(), Entities: append(marks[:len(marks):len(marks)], block)}
}
