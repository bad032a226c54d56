package telegram_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// mixedFiles are files of every kind of album.
func (r *testChannel) mixedFiles() (files []channels.File) {
	for _, name := range []string{"1.pdf", "2.png", "3.mp3", "4.txt", "5.mp3", "6.ogg", "7.png"} {
		content := []byte("x")
		if strings.HasSuffix(name, ".png") {
			content = telegramtest.PNG(10, 10)
		}
		if strings.HasSuffix(name, ".ogg") {
			content = []byte("OggS OpusHead")
		}
		files = append(files, r.WriteFile(name, content))
	}
	return files
}

// sentAs describes the messages of a chat as kinds, with the items of an album in brackets.
func sentAs(messages []telegramtest.Message) string {
	var b strings.Builder
	last := ""
	for _, m := range messages {
		switch {
		case m.MediaGroupID != "" && m.MediaGroupID == last:
			b.WriteString("+" + m.Kind())
		default:
			b.WriteString(" " + m.Kind())
		}
		last = m.MediaGroupID
	}
	return strings.TrimSpace(b.String())
}

func TestDocumentsAndAudioAreSentSingly(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: "files", Media: r.mixedFiles()})
	wanttest.Equal(t, "sent are", sentAs(r.server.BotMessages(person)), "photo+photo document audio document audio voice")
}

func TestDocumentsAndAudioAreSentInAlbumsIfTheSettingSaysSo(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) { o.GroupDocuments = true })
	r.SendAnswer(channels.Message{Text: "files", Media: r.mixedFiles()})
	shown := r.server.BotMessages(person)
	wanttest.Equal(t, "sent are", sentAs(shown), "photo+photo document+document audio+audio voice")
	if got := r.server.Notifying(person); len(got) != 1 || shown[0].Caption != "files" {
		t.Errorf("people are notified of %d messages, the caption is %q", len(got), shown[0].Caption)
	}
	var many []channels.File
	for range 12 {
		many = append(many, r.WriteFile("a.pdf", []byte("x")))
	}
	r.SendAnswer(channels.Message{Media: many})
	wanttest.Equal(t, "twelve are sent as", sentAs(r.server.BotMessages(person)[len(shown):]), "document"+strings.Repeat("+document", 9)+" document+document")
}
