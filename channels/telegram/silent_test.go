package telegram_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
)

// captions returns the texts or captions of messages.
func captions(messages []telegramtest.Message) (out []string) {
	for _, m := range messages {
		out = append(out, m.TextOrCaption())
	}
	return out
}

func TestASilentMessageNotifiesNobody(t *testing.T) {
	r := newTestChannel(t)
	picture := r.WriteFile("a.png", telegramtest.PNG(10, 10))
	for name, m := range map[string]channels.Message{
		"text":      {Text: "hello"},
		"photo":     {Media: []channels.File{picture}},
		"album":     {Media: []channels.File{picture, picture}},
		"video":     {Media: []channels.File{r.WriteFile("a.mp4", []byte("x"))}},
		"animation": {Media: []channels.File{r.WriteFile("a.gif", []byte("GIF89a"))}},
		"audio":     {Media: []channels.File{r.WriteFile("a.mp3", []byte("x"))}},
		"voice":     {Media: []channels.File{r.WriteFile("a.ogg", []byte("OggS OpusHead"))}},
		"document":  {Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}},
		"long text": {Text: strings.Repeat("word ", 5000)},
	} {
		loud := len(r.server.Notifying(person))
		m.Silent = true
		r.SendAnswer(m)
		if got := r.server.Notifying(person); len(got) != loud {
			t.Errorf("a silent %s notifies", name)
		}
		m.Silent = false
		r.SendAnswer(m)
		if got := r.server.Notifying(person); len(got) != loud+1 {
			t.Errorf("of a %s %d messages notify", name, len(got)-loud)
		}
	}
}

func TestAMessageInSeveralPartsNotifiesOnceWhenItIsComplete(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: strings.Repeat("word ", 1500), Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}})
	shown := r.server.BotMessages(person)
	if len(shown) < 3 {
		t.Fatalf("%d messages are shown", len(shown))
	}
	if got := r.server.Notifying(person); len(got) != 1 || got[0].ID != shown[len(shown)-1].ID {
		t.Errorf("people are notified of %q", captions(got))
	}
}

func TestASplitAlbumNotifiesOnce(t *testing.T) {
	r := newTestChannel(t)
	good, bad := r.WriteFile("a.png", telegramtest.PNG(10, 10)), r.WriteFile("b.png", []byte("no picture"))
	r.SendAnswer(channels.Message{Text: "three", Media: []channels.File{good, good, bad}})
	if got := r.server.Notifying(person); len(got) != 1 || got[0].Caption != "three" {
		t.Errorf("people are notified of %q", captions(got))
	}
	if shown := r.server.BotMessages(person); len(shown) != 3 {
		t.Errorf("%d messages are shown", len(shown))
	}
}
