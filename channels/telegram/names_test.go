package telegram_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
)

func TestBidiControlsAreRemovedFromReceivedNames(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddUser(telegramtest.User{ID: person, FirstName: "Ada\u202e", LastName: "\u2067gnp", Username: "ada"})
	r.start()
	r.server.UserSends(person, "hello\u202e")
	if got := r.onlyMessage(); got.User.Name != "Ada gnp" || got.Text != "hello\u202e" { // what people say is for the agent
		t.Errorf("got %+q, %+q", got.User.Name, got.Text)
	}
}

func TestBidiControlsAreNotSentToTelegram(t *testing.T) {
	r := newTestChannel(t)
	plan, err := r.Plan(channels.Message{
		Chat: chatOf("42"), Text: "a\u202eb", Media: []channels.File{{Name: "x\u202egnp.exe", Size: 1}}, Buttons: []channels.Button{{Label: "N\u202eo", Data: "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := plan[len(plan)-1]
	if plan[0].Text != "a⟨U+202E⟩b" || o.Media[0].Name != "xgnp.exe" || o.Buttons[0].Label != "N⟨U+202E⟩o" {
		t.Errorf("the plan is %+v", plan)
	}
}
