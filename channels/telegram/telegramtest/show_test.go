package telegramtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func TestBotMessagesOfAllChatsAreInOrder(t *testing.T) {
	s := telegramtest.New(t)
	for i, chat := range []int64{person, person + 1, person} {
		s.UserSends(chat, "hello")
		mustCall(t, s, "sendMessage", params{"chat_id": chat, "text": fmt.Sprint("answer ", i)})
	}
	gone := s.BotMessages(0)[1]
	mustCall(t, s, "deleteMessage", params{"chat_id": person + 1, "message_id": gone.ID})
	if shown := s.BotMessages(0); len(shown) != 2 || shown[0].Text != "answer 0" || shown[1].Text != "answer 2" {
		t.Errorf("shown %+v", shown)
	}
}

func TestAwaitGivesUp(t *testing.T) {
	s := telegramtest.New(t)
	if shown, ok := s.AwaitMessages(person, 10*time.Millisecond, func([]telegramtest.Message) bool { return false }); ok || shown != nil {
		t.Errorf("got %+v", shown)
	}
}

func TestButtonsArePressedAndAnswered(t *testing.T) {
	s := telegramtest.New(t)
	p := button("yes")
	p["chat_id"] = group
	s.AddChat(telegramtest.Chat{ID: group})
	m := mustCall(t, s, "sendMessage", p).message(t)
	id := s.UserPresses(group, 7, m.ID, "yes")
	c := getUpdates(t, s, nil)[0].Callback
	if c.ID != id || c.Data != "yes" || c.From.ID != 7 || c.Message.ID != m.ID {
		t.Errorf("query %+v", c)
	}
	if _, ok := s.QueryAnswer(id); ok {
		t.Error("answered before it was")
	}
	mustCall(t, s, "answerCallbackQuery", params{"callback_query_id": id, "text": "noted"})
	if a, ok := s.QueryAnswer(id); !ok || a.Text != "noted" || a.Times != 1 {
		t.Errorf("answer %+v", a)
	}
	mustCall(t, s, "editMessageReplyMarkup", params{"chat_id": group, "message_id": m.ID})
	if shown := s.BotMessages(group); len(shown[0].Buttons()) != 0 {
		t.Errorf("buttons %+v", shown[0].Buttons())
	}
}

func TestTextIsTrimmedAndItsEntitiesMoveAlong(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	for _, c := range []struct {
		params params
		want   string
	}{
		{params{"text": "  a bold \n", "entities": []params{entity("bold", 4, 6)}}, `"a bold" [{bold 2 4}]`},
		{params{"text": "  code ", "entities": []params{entity("pre", 0, 7)}}, `"  code" [{pre 0 6}]`},
		{params{"text": "<b>a</b> &lt; <a href=\"https://x.org\">b</a>", "parse_mode": "HTML"}, `"a < b" [{bold 0 1} {text_link 4 1}]`},
		{params{"text": "<pre><code class=\"language-go\">x</code></pre>", "parse_mode": "HTML"}, `"x" [{pre 0 1}]`},
		{params{"text": "in code", "entities": []params{entity("code", 0, 7), entity("bold", 3, 4)}}, `"in code" [{code 0 7}]`},
	} {
		m := mustCall(t, s, "sendMessage", withParam(c.params, "chat_id", person)).message(t)
		var all []string
		for _, e := range m.Entities {
			all = append(all, fmt.Sprintf("{%s %d %d}", e.Type, e.Offset, e.Length))
		}
		wanttest.Equal(t, "got", fmt.Sprintf("%q [%s]", m.Text, strings.Join(all, " ")), c.want)
	}
}

func withParam(p params, name string, value any) params {
	p[name] = value
	return p
}

func TestCallsKeepParametersAndUploads(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	callMultipart(t, s, "sendDocument", params{"chat_id": person, "caption": "c", "caption_entities": []params{entity("bold", 0, 1)}},
		upload{"document", "a.txt", []byte("content")})
	c := s.Calls("sendDocument")[0]
	var e []telegramtest.Entity
	if err := c.DecodeParam("caption_entities", &e); err != nil || len(e) != 1 || c.IntParam("chat_id") != person || c.Params["caption"] != "c" {
		t.Errorf("call %+v: %v", c, err)
	}
	if u := c.Uploads[0]; u.Name != "a.txt" || string(u.Content) != "content" || len(c.Messages) != 1 || !c.Done {
		t.Errorf("call %+v", c)
	}
}

func TestCommandMenus(t *testing.T) {
	s := telegramtest.New(t)
	mustCall(t, s, "setMyCommands", commandsOf(2))
	mustCall(t, s, "setMyCommands", withParam(commandsOf(1), "scope", params{"type": "all_group_chats"}))
	if len(s.Commands("default")) != 2 || len(s.Commands("all_group_chats")) != 1 || s.Commands("all_private_chats") != nil {
		t.Errorf("menus %+v", s.Commands("default"))
	}
	if got := decodeJSON[[]telegramtest.Command](t, mustCall(t, s, "getMyCommands", nil).Result); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
}
