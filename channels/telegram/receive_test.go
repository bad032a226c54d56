package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAMessageHasItsSenderChatAndTime(t *testing.T) {
	r := newTestChannel(t)
	r.start()
	m := r.server.UserSends(person, "hello")
	got := r.onlyMessage()
	want := channels.Incoming{
		Chat: chatOf("42"), ID: strconv.Itoa(m.ID), Text: "hello",
		User: channels.User{ID: "42", Name: "Ada L", Username: "ada"}, Cursor: got.Cursor,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || got.Cursor == "" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheOffsetMovesOnlyWhenAMessageWasStored(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t)
	refused := 0
	refuse := func(context.Context, channels.Incoming) error {
		if refused++; refused > 4 { // whole and as a part, twice
			return nil
		}
		if r.server.PendingUpdates() != 1 || len(r.server.Calls("getUpdates")) != 1 {
			t.Error("the update was confirmed before it was received")
		}
		return errors.New("the disk is full")
	}
	r.server.UserSends(person, "one")
	r.startRefusing(refuse)
	cursor := musttest.Get(strconv.ParseInt(r.WaitForMessages(1)[0].Cursor, 10, 64))(t)
	calls := r.server.WaitForCalls(r.t, "getUpdates", func(c []telegramtest.Call) bool { return len(c) >= 2 })
	if offset := calls[1].IntParam("offset"); offset != cursor+1 {
		t.Errorf("after update %d was received, the offset is %d", cursor, offset)
	}
	wanttest.Equal(t, "the same error is logged … times:", strings.Count(r.LogText(), "the disk is full"), 1)
}

func TestTheCursorOfAnotherBotDoesNotHideMessages(t *testing.T) {
	for _, cursor := range []string{"", "nonsense", "1", "999999999999"} {
		t.Run(cursor, func(t *testing.T) {
			r := newTestChannel(t)
			r.server.UserSends(person, "hello")
			r.Resume(cursor)
			r.start()
			wanttest.Equal(t, "got", r.WaitForMessages(1)[0].Text, "hello")
		})
	}
}

func TestAnUndecodableUpdateIsLoggedAndSkipped(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserSends(person, "before")
	id := r.server.InjectUndecodableUpdate()
	r.server.UserSends(person, "after")
	r.start()
	got := r.WaitForMessages(2)
	if got[0].Text != "before" || got[1].Text != "after" {
		t.Errorf("got %+v", got)
	}
	if log := r.LogText(); !strings.Contains(log, "undecodable") || !strings.Contains(log, strconv.Itoa(id)) {
		t.Errorf("the log does not tell: %s", log)
	}
}

func TestWhatTheLibraryDoesNotKnowCostsNoMessage(t *testing.T) {
	r := newTestChannel(t)
	r.server.InjectUpdate(`{"message":{"message_id":7,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ada"},
		"text":"hello","forward_origin":{"type":"telepathy"},"effect":{"x":[1]}}}`)
	r.start()
	if got := r.WaitForMessages(1)[0]; got.Text != "hello" || got.ID != "7" {
		t.Errorf("got %+v", got)
	}
}

func TestChannelPostsAndTheirEditsAreIgnored(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddChat(telegramtest.Chat{ID: -1005, Type: "channel"})
	m := r.server.UserPosts(telegramtest.UserPost{Chat: -1005, Text: "news"})
	r.server.UserEdits(-1005, m.ID, "more news")
	r.server.UserSends(other, "first")
	r.server.InjectUpdate(`{"message":{"message_id":9,"date":1,"chat":{"id":-1006,"type":"supergroup"},"is_automatic_forward":true,
		"from":{"id":777000,"first_name":"Telegram"},"sender_chat":{"id":-1005,"type":"channel"},"text":"@nano_test_bot news"}}`)
	r.start()
	if got := r.onlyMessage(); got.Text != "first" {
		t.Errorf("got %+v", got)
	}
}

func TestContactsAndLocationsAreText(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Contact: &telegramtest.Contact{PhoneNumber: "+4912345", FirstName: "Bob", LastName: "B"}})
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Location: &telegramtest.Location{Latitude: 52.5, Longitude: 13.25}})
	r.start()
	got := r.WaitForMessages(2)
	if got[0].Text != "Contact: Bob B, +4912345" || got[1].Text != "Location: 52.5, 13.25" {
		t.Errorf("got %q and %q", got[0].Text, got[1].Text)
	}
}

func TestEveryPressIsAnsweredOnce(t *testing.T) {
	r := newTestChannel(t)
	r.start()
	r.SendAnswer(channels.Message{Text: "which?", Buttons: []channels.Button{{Label: "No", Data: "answer:2"}}})
	m := r.server.WaitForCount(t, person, 1)[0]
	presses := []string{r.server.UserPresses(person, 0, m.ID, "answer:2"), r.server.UserPresses(person, 0, m.ID, "answer:2")}
	r.WaitForMessages(2)
	r.server.WaitForCalls(r.t, "answerCallbackQuery", func(c []telegramtest.Call) bool { return len(c) == 2 && c[0].Done && c[1].Done })
	for _, q := range presses {
		if a, ok := r.server.QueryAnswer(q); !ok || a.Times != 1 {
			t.Errorf("press %s was answered %d times", q, a.Times)
		}
	}
}

func TestOnlyThePersonWhoHasPressedAButtonSeesTheResponse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"short":       {"Only\nan approver may answer.", "Only an approver may answer."},
		"long":        {strings.Repeat("x", 300), strings.Repeat("x", 199) + "…"},
		"many emojis": {strings.Repeat("😀", 150), strings.Repeat("😀", 99) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t, func(o *telegram.Options) { o.Timing.Response = waitLimit })
			r.startRefusing(func(_ context.Context, in channels.Incoming) error {
				if in.Press != "" {
					in.Respond(c.text)
				}
				return nil
			})
			r.SendAnswer(channels.Message{Text: "which?", Buttons: []channels.Button{{Label: "No", Data: "answer:2"}}})
			query := r.server.UserPresses(person, 0, r.server.WaitForCount(t, person, 1)[0].ID, "answer:2")
			r.server.WaitForCalls(r.t, "answerCallbackQuery", func(c []telegramtest.Call) bool { return len(c) == 1 && c[0].Done })
			if a, _ := r.server.QueryAnswer(query); a.Text != c.want || a.Times != 1 || len(r.server.BotMessages(person)) != 1 {
				t.Errorf("the answer is %+v", a)
			}
		})
	}
}

func TestTheMenuIsSetWhenItStarts(t *testing.T) {
	r := newTestChannel(t)
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop it"}})
	r.start()
	r.server.WaitForCalls(r.t, "setMyCommands", func(c []telegramtest.Call) bool { return len(c) > 0 && c[0].Done })
	if got := r.server.Commands("default"); len(got) != 1 || got[0].Command != "stop" || got[0].Description != "stop it" {
		t.Errorf("the menu is %+v", got)
	}
}

func TestTheMenuIsSetAgainUntilItWorks(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t)
	r.server.FailNext("setMyCommands", telegramtest.BadGateway(), telegramtest.Fault{CutBefore: true})
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop it"}})
	r.start()
	r.server.WaitForCalls(r.t, "setMyCommands", func(c []telegramtest.Call) bool { return len(c) == 3 && c[2].Done })
	if got := r.server.Commands("default"); len(got) != 1 {
		t.Errorf("the menu is %+v", got)
	}
}

func TestAMenuThatIsRefusedIsOnlyLogged(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("setMyCommands", telegramtest.ErrorResponse(400, "Bad Request: no"))
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop it"}})
	r.start()
	r.server.UserSends(person, "hello")
	r.WaitForMessages(1)
}
