package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/web/history"
	"nanobot/internal/words"
)

// maxMessageChars is how many characters one message may have. A longer text becomes a file: nobody
// reads it in a chat.
const maxMessageChars = 64 << 10

// maxFileSize is the largest file that is copied for browsers to download.
const maxFileSize = 2 << 30

// FileLimit returns the same limit for all chats.
func (c *Channel) FileLimit(_ channels.Chat, language string) (limit int64, phrase string) {
	return maxFileSize, c.words.For(language).Text(words.LimitOfPage, int64(maxFileSize)>>20)
}

// Plan returns one call. A very long text becomes a file, with its beginning as the message. The
// form of a message with a screen is a history.Terminal; the text also has the screen, for scripts.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.SanitizeBidi(m)
	m.ShowQuote()
	text, files := strings.ToValidUTF8(m.Text, "\uFFFD"), m.Media
	switch {
	case strings.TrimSpace(text) == "":
		text = ""
	case utf8.RuneCountInString(text) > maxMessageChars:
		files = append([]channels.File{*markdown.Document(text, m.Format)}, files...)
		text = markdown.Excerpt(text, m.Format, maxMessageChars/4, c.words.For(m.Language))
	}
	var form []byte
	if m.Screen != nil {
		var err error
		if form, err = json.Marshal(history.Terminal{Caption: text, Screen: m.Screen}); err != nil {
			return nil, fmt.Errorf("store the screen: %w", err)
		}
		text = strings.ToValidUTF8(m.Screen.Fenced(text), "\uFFFD")
	}
	if text == "" && len(files) == 0 {
		return nil, nil
	}
	return []channels.Outgoing{{
		Chat: m.Chat, Kind: m.Kind, Code: m.Code, Text: text, Format: m.Format, Media: files, ReplyTo: m.ReplyTo,
		Buttons: m.Buttons, Form: form,
		Details: planDetails(m.Details), Notification: m.Notification,
	}}, nil
}

// planDetails returns the details of a message, or their beginning if they are very long.
func planDetails(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case utf8.RuneCountInString(text) > maxMessageChars:
		text = string([]rune(text)[:maxMessageChars])
		return text[:max(strings.LastIndexByte(text, '\n'), 0)] + "\n…"
	}
	return text
}
