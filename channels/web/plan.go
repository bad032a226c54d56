package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/web/history"
)

// longest is how many characters one message may have. A browser could show more, but nobody reads
// it there: it becomes a file.
const longest = 64 << 10

// mostFile is the largest file that is kept for a browser to fetch. Nobody waits for more in a
// chat.
const mostFile = 2 << 30

// FileLimit is the same in all chats.
func (c *Channel) FileLimit(channels.Chat) (most int64, words string) {
	return mostFile, fmt.Sprintf("files here may have up to %d MB", int64(mostFile)>>20)
}

// Plan makes one message of it all. A text that is very long becomes a file, with its beginning in
// the chat. The form of a message with a screen is a history.Terminal; its text has the screen,
// too, for scripts.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.SanitizeBidi(m)
	text, files := strings.ToValidUTF8(m.Text, "\uFFFD"), m.Media
	switch {
	case strings.TrimSpace(text) == "":
		text = ""
	case utf8.RuneCountInString(text) > longest:
		files = append([]channels.File{*markdown.Document(text)}, files...)
		text = markdown.Excerpt(text, longest/4)
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
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Code: m.Code, Text: text, Media: files, ReplyTo: m.ReplyTo, Buttons: m.Buttons, Form: form}}, nil
}
