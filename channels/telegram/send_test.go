package telegram_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func utf16Len(s string) int { return len(utf16.Encode([]rune(s))) }

// entityText returns what an entity of a message covers.
func entityText(m telegramtest.Message, e telegramtest.Entity) string {
	u := utf16.Encode([]rune(m.TextOrCaption()))
	return string(utf16.Decode(u[e.Offset : e.Offset+e.Length]))
}

func TestMarkdownBecomesTextWithEntities(t *testing.T) {
	r := newTestChannel(t)
	receipts := r.SendAnswer(channels.Message{Text: "👋 **bold** and `code` and [a link](https://example.org)"})
	m := r.server.WaitForCount(t, person, 1)[0]
	if m.Text != "👋 bold and code and a link" || receipts[0].ID != strconv.Itoa(m.ID) {
		t.Errorf("shown is %q under %d, receipt %+v", m.Text, m.ID, receipts)
	}
	want := []string{"bold: bold", "code: code", "text_link: a link"}
	for i, e := range m.Entities {
		if got := e.Type + ": " + entityText(m, e); got != want[i] {
			t.Errorf("entity %d is %q, want %q", i, got, want[i])
		}
	}
	if len(m.Entities) != 3 || !m.NoPreview || m.Silent {
		t.Errorf("shown is %+v", m)
	}
}

func TestALongTextOfEmojiIsSplitWithinTheLimit(t *testing.T) {
	r := newTestChannel(t)
	text := strings.Repeat(strings.Repeat("👨‍👩‍👧‍👦 **wörd** ", 10)+"\n\n", 70)
	r.SendAnswer(channels.Message{Text: text})
	shown := r.server.BotMessages(person)
	if len(shown) < 2 {
		t.Fatalf("%d messages", len(shown))
	}
	all := ""
	for _, m := range shown {
		if utf16Len(m.Text) > 4096 {
			t.Errorf("a part has %d units", utf16Len(m.Text))
		}
		for _, e := range m.Entities {
			wanttest.Equal(t, "an entity covers", entityText(m, e), "wörd")
		}
		all += m.Text + " "
	}
	if strings.Join(strings.Fields(all), "") != strings.Repeat("👨‍👩‍👧‍👦wörd", 700) {
		t.Error("the parts are not the text")
	}
}

func TestAVeryLongTextIsADocumentWithItsBeginning(t *testing.T) {
	r := newTestChannel(t)
	text := "# Title\n\n" + strings.Repeat("A sentence of some words. ", 2000)
	r.SendAnswer(channels.Message{Text: text, Media: []channels.File{r.WriteFile("a.png", telegramtest.PNG(10, 10))}})
	shown := r.server.BotMessages(person)
	if len(shown) != 2 || shown[0].Kind() != "document" || shown[1].Kind() != "photo" {
		t.Fatalf("shown are %+v", shown)
	}
	f, _ := r.server.File(shown[0].File().FileID)
	if string(f.Content) != text || f.Name != "answer.md" || !strings.HasPrefix(shown[0].Caption, "Title") || utf16Len(shown[0].Caption) > 1024 {
		t.Errorf("%q with the caption %q", f.Name, shown[0].Caption)
	}
}

func TestProgressIsSilent(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Kind: channels.Progress, Text: "⏳ working"})
	r.SendAnswer(channels.Message{Kind: channels.Failure, Text: "Error (E1): no"})
	shown := r.server.BotMessages(person)
	if !shown[0].Silent || shown[1].Silent {
		t.Errorf("shown are %+v", shown)
	}
}

func TestInGroupsTheFirstPartRepliesToTheQuestion(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddChat(telegramtest.Chat{ID: group})
	question := r.server.UserSends(group, "tell me")
	id := strconv.Itoa(question.ID)
	r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: strings.Repeat("word ", 1000), ReplyTo: id})
	shown := r.server.BotMessages(group)
	if len(shown) != 2 || shown[0].ReplyTo == nil || shown[0].ReplyTo.ID != question.ID || shown[1].ReplyTo != nil {
		t.Errorf("shown are %+v", shown)
	}
	r.server.UserDeletes(group, question.ID)
	r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "still there", ReplyTo: id})
	r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "to a press", ReplyTo: "press-123"})
	r.SendAnswer(channels.Message{Text: "in private", ReplyTo: id})
	if m := r.server.WaitForCount(t, person, 1)[0]; m.ReplyTo != nil {
		t.Errorf("in private it is %+v", m)
	}
}

func TestButtonsAreUnderTheLastPart(t *testing.T) {
	r := newTestChannel(t)
	buttons := []channels.Button{{Label: "Yes", Data: "1"}, {Label: "No", Data: "2"}, {Label: strings.Repeat("long ", 30), Data: "3"}, {Data: "4"}}
	r.SendAnswer(channels.Message{Text: strings.Repeat("word ", 1000), Buttons: buttons})
	shown := r.server.BotMessages(person)
	if len(shown) != 2 || len(shown[0].Buttons()) != 0 || len(shown[1].Buttons()) != 4 {
		t.Fatalf("shown are %+v", shown)
	}
	if rows := shown[1].ReplyMarkup.Rows; len(rows[0]) != 2 || len(rows[1]) != 1 {
		t.Errorf("the rows are %+v", rows)
	}
	pictures := []channels.File{r.WriteFile("a.png", telegramtest.PNG(10, 10)), r.WriteFile("b.png", telegramtest.PNG(10, 10))}
	r.SendAnswer(channels.Message{Text: "which?", Media: pictures, Buttons: buttons})
	r.SendAnswer(channels.Message{Media: pictures, Buttons: buttons})
	r.SendAnswer(channels.Message{Text: "this?", Media: pictures[:1], Buttons: buttons})
	shown = r.server.BotMessages(person)[2:]
	if len(shown) != 7 || shown[2].Text != "which?" || len(shown[2].Buttons()) != 4 || len(shown[5].Buttons()) != 4 ||
		shown[6].Caption != "this?" || len(shown[6].Buttons()) != 4 {
		t.Errorf("shown are %+v", shown)
	}
	if _, err := r.Plan(channels.Message{Chat: chatOf("42"), Text: "x", Buttons: []channels.Button{{Label: "x", Data: strings.Repeat("x", 65)}}}); err == nil {
		t.Error("a button may carry too much")
	}
}

func TestARepetitionIsLedByAMark(t *testing.T) {
	r := newTestChannel(t)
	for _, m := range []channels.Message{
		{Text: "some **bold** words"},
		{Text: strings.Repeat("x", 4095)},
		{Text: "a **bold** caption", Media: []channels.File{r.WriteFile("a.png", telegramtest.PNG(10, 10))}},
		{Media: []channels.File{r.WriteFile("a.png", telegramtest.PNG(10, 10))}},
	} {
		m.Chat, m.Kind = chatOf("42"), channels.Answer
		for _, o := range r.MustPlan(m) {
			o.Repeat = true
			if _, err := r.Send(context.Background(), o); err != nil {
				t.Error(err)
			}
		}
	}
	for _, m := range r.server.BotMessages(person) {
		if !strings.HasPrefix(m.TextOrCaption(), "↻") || utf16Len(m.TextOrCaption()) > 4096 {
			t.Errorf("shown is %q", m.TextOrCaption())
		}
		for _, e := range append(m.Entities, m.CaptionEntities...) {
			wanttest.Equal(t, "an entity covers", entityText(m, e), "bold")
		}
	}
}

func TestAnEditReplacesTextAndButtons(t *testing.T) {
	r := newTestChannel(t)
	stop := []channels.Button{{Label: "Stop", Data: "/stop"}}
	id := r.SendAnswer(channels.Message{Kind: channels.Progress, Text: "⏳ one", Buttons: stop})[0].ID
	next := r.MustPlan(channels.Message{Chat: chatOf("42"), Kind: channels.Progress, Text: "⏳ **two**", Buttons: stop})[0]
	for range 2 { // the second changes nothing
		if err := r.Edit(t.Context(), id, next); err != nil {
			t.Error(err)
		}
	}
	m := r.server.BotMessages(person)[0]
	if m.Text != "⏳ two" || len(m.Buttons()) != 1 || m.Edits != 1 || len(m.Entities) != 1 {
		t.Errorf("shown is %+v", m)
	}
	r.server.FailNext("editMessageText", telegramtest.ErrorResponse(400, "Bad Request: can't parse entities: no"))
	next = r.MustPlan(channels.Message{Chat: chatOf("42"), Kind: channels.Progress, Text: "⏳ **three**"})[0]
	if err := r.Edit(t.Context(), id, next); err != nil {
		t.Error(err)
	}
	if m := r.server.BotMessages(person)[0]; m.Text != "⏳ three" || len(m.Entities) != 0 || len(m.Buttons()) != 0 {
		t.Errorf("shown is %+v", m)
	}
}

func TestAMessageIsRemovedAndOneThatIsGoneIsNoError(t *testing.T) {
	r := newTestChannel(t)
	id := r.SendAnswer(channels.Message{Text: "hello"})[0].ID
	for range 2 {
		if err := r.Remove(t.Context(), chatOf("42"), id); err != nil {
			t.Error(err)
		}
	}
	if shown := r.server.BotMessages(person); len(shown) != 0 {
		t.Errorf("shown are %+v", shown)
	}
	var se *channels.SendError
	if err := r.Remove(t.Context(), chatOf("42"), "x"); !asSendError(err, &se) || !se.Permanent {
		t.Errorf("Remove returned %v", err)
	}
}

func TestTypingIsShownInTheTopic(t *testing.T) {
	r := newTestChannel(t)
	topic := r.server.AddTopic(forum, "one")
	if err := r.Typing(t.Context(), chatOf(strconv.FormatInt(forum, 10)+"_"+strconv.Itoa(topic))); err != nil {
		t.Error(err)
	}
	if err := r.Typing(t.Context(), chatOf("42")); err != nil {
		t.Error(err)
	}
	calls := r.server.Calls("sendChatAction")
	if calls[0].Params["action"] != "typing" || int(calls[0].IntParam("message_thread_id")) != topic || calls[1].IntParam("chat_id") != person {
		t.Errorf("the calls are %+v", calls)
	}
}

func TestAChatThatIsNotTelegramsIsRefused(t *testing.T) {
	r := newTestChannel(t)
	for _, id := range []string{"", "x", "0", "1_", "1_x", "1_-2", "../1"} {
		if _, err := r.Plan(channels.Message{Chat: chatOf(id), Text: "x"}); err == nil {
			t.Errorf("%q is taken", id)
		}
		if _, err := r.Send(t.Context(), channels.Outgoing{Chat: chatOf(id), Text: "x"}); err == nil {
			t.Errorf("%q is sent to", id)
		}
	}
}
