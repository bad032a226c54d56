package telegram_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// folded returns the text in the expandable quote of a message.
func folded(m telegramtest.Message) string {
	for _, e := range append(m.Entities, m.CaptionEntities...) {
		if e.Type == "expandable_blockquote" {
			return entityText(m, e)
		}
	}
	return ""
}

func TestDetailsAreFoldedBelowTheText(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: "✓ **20 steps**", Details: "- ran `go vet`\n\n> quoted\n\n```\nok\n```"})
	m := r.server.WaitForCount(t, person, 1)[0]
	if m.Text != "✓ 20 steps\n• ran go vet\n\nquoted\n\nok" || folded(m) != "• ran go vet\n\nquoted\n\nok" {
		t.Errorf("shown is %q, folded %q", m.Text, folded(m))
	}
	var kinds []string
	for _, e := range m.Entities {
		kinds = append(kinds, e.Type+" "+entityText(m, e))
	}
	want := "bold 20 steps, expandable_blockquote • ran go vet\n\nquoted\n\nok, code go vet, pre ok"
	wanttest.Equal(t, "the entities are", strings.Join(kinds, ", "), want)
}

func TestDetailsAreCutToFitWithTheText(t *testing.T) {
	r := newTestChannel(t)
	long := strings.Repeat("👋 **line** `of` details\n", 600)
	for name, m := range map[string]channels.Message{
		"a short text": {Text: "short", Details: long},
		"a long text":  {Text: strings.Repeat("word ", 800), Details: long},
		"a caption":    {Text: "short", Details: long, Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}},
		"a file":       {Details: long, Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}},
	} {
		before := len(r.server.BotMessages(person))
		r.SendAnswer(m)
		shown := r.server.BotMessages(person)[before:]
		if len(shown) != 1 || !strings.HasSuffix(folded(shown[0]), "…") || !strings.HasPrefix(shown[0].TextOrCaption(), strings.TrimSpace(m.Text)) {
			t.Errorf("%s: shown is %q", name, captions(shown))
		}
	}
	r.SendAnswer(channels.Message{Text: strings.Repeat("x", 4090), Details: long})
	if shown := r.server.BotMessages(person); shown[len(shown)-1].Text != strings.Repeat("x", 4090) {
		t.Errorf("shown without any room for details is %q", shown[len(shown)-1].Text)
	}
}

func TestDetailsAreBelowTheLastTextOfSeveral(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{
		Text: strings.Repeat("word ", 1000), Details: "below", Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))},
	})
	shown := r.server.BotMessages(person)
	if len(shown) != 3 || folded(shown[0]) != "" || folded(shown[1]) != "below" || folded(shown[2]) != "" {
		t.Errorf("shown are %q", captions(shown))
	}
}

func TestAMessageIsFoldedByAnEdit(t *testing.T) {
	r := newTestChannel(t)
	id := r.SendAnswer(channels.Message{Kind: channels.Progress, Text: "⏳ 3 steps\n• one\n• two"})[0].ID
	o := r.MustPlan(channels.Message{Chat: chatOf("42"), Kind: channels.Progress, Text: "✓ 3 steps", Details: "• one\n• two"})[0]
	musttest.Do(t, r.Edit(t.Context(), id, o))
	m := r.server.BotMessages(person)[0]
	if m.Text != "✓ 3 steps\n• one\n• two" || folded(m) != "• one\n• two" {
		t.Errorf("shown is %q, folded %q", m.Text, folded(m))
	}
}

func TestDetailsWithManyEntitiesStayFolded(t *testing.T) {
	r := newTestChannel(t)
	links := strings.Repeat("[a](https://example.org) ", 99)
	r.SendAnswer(channels.Message{Text: links, Details: strings.Repeat("`code` ", 99) + "end"})
	m := r.server.BotMessages(person)[0]
	if len(m.Entities) > 100 || !strings.HasSuffix(folded(m), "end") {
		t.Errorf("of %d entities folded is %q", len(m.Entities), folded(m))
	}
}
