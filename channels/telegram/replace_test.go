package telegram_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// An edit that must wait keeps other edits waiting, and no answer.
func TestEditsThatAreTooManyDoNotDelayAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edits := 0
		ch := musttest.Get(telegram.New(telegram.Options{
			Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()),
			Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/editMessageText") {
					edits++
					return respond(req, 429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":600}}`), nil
				}
				return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
			})},
		}))(t)
		o := channels.Outgoing{Chat: chatOf("42"), Text: "x"}
		for range 3 {
			var se *channels.SendError
			if err := ch.Edit(t.Context(), "1", o); !asSendError(err, &se) || se.After < time.Minute {
				t.Errorf("an edit says %v", err)
			}
		}
		wanttest.Equal(t, "edits were asked for:", edits, 1)
		began := time.Now()
		if _, err := ch.Send(t.Context(), o); err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("an answer took %s: %v", time.Since(began), err)
		}
	})
}

func TestTheAgentsCommandsAreInTheMenuOfTheirChat(t *testing.T) {
	r := newTestChannel(t)
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop it"}})
	many := []channels.Command{
		{Name: "plan", Help: "make a plan\nof more than one line"},
		{Name: "web-search", Help: "has a dash"},
		{Name: "--", Help: "not a name for Telegram"},
		{Name: "web_search", Help: "the same name"},
		{Name: "Loud"},
		{Name: "stop", Help: "ours goes first"},
		{Name: "quiet"},
		{Name: "long", Help: strings.Repeat("long ", 100)},
	}
	for i := range 200 {
		many = append(many, channels.Command{Name: "c" + itoa(i), Help: "one of many"})
	}
	musttest.Do(t, r.SetChatMenu(t.Context(), chatOf("42"), many))
	var menu []telegramtest.Command
	calls := r.server.Calls("setMyCommands")
	musttest.Do(t, calls[0].DecodeParam("commands", &menu))
	if calls[0].Params["scope"] != `{"type":"chat","chat_id":42}` || len(menu) != 100 {
		t.Errorf("%d commands for %s", len(menu), calls[0].Params["scope"])
	}
	want := []telegramtest.Command{{Command: "stop", Description: "stop it"}, {Command: "plan", Description: "make a plan of more than one line"}, {Command: "web_search", Description: "has a dash"}, {Command: "loud", Description: "Loud"}, {Command: "quiet", Description: "quiet"}}
	for i, w := range want {
		if menu[i] != w {
			t.Errorf("command %d is %+v", i, menu[i])
		}
	}
	musttest.Do(t, r.SetChatMenu(t.Context(), chatOf("42"), nil))
	if calls := r.server.Calls("deleteMyCommands"); len(calls) != 1 || calls[0].Status != 200 {
		t.Errorf("got %+v", calls)
	}
}
