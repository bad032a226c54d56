package telegram_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

func TestBidiControlsAreNotSentToTelegram(t *testing.T) {
	r := newTestChannel(t)
	plan := musttest.Get(r.Plan(channels.Message{
		Chat: chatOf("42"), Text: "a\u202eb", Media: []channels.File{{Name: "x\u202egnp.exe", Size: 1}}, Buttons: []channels.Button{{Label: "N\u202eo", Data: "1"}},
	}))(t)
	o := plan[len(plan)-1]
	if plan[0].Text != "a⟨U+202E⟩b" || o.Media[0].Name != "xgnp.exe" || o.Buttons[0].Label != "N⟨U+202E⟩o" {
		t.Errorf("the plan is %+v", plan)
	}
}
