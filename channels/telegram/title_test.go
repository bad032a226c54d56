package telegram_test

import (
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

func TestAMessageHasTheTitleOfItsGroup(t *testing.T) {
	r := newTestChannel(t, allGroups)
	r.server.AddChat(telegramtest.Chat{ID: -55, Type: "group", Title: "Operations"})
	r.start()
	r.server.UserPosts(telegramtest.UserPost{Chat: -55, Text: "one"})
	if in := r.WaitForMessages(1)[0]; in.Title != "Operations" || !in.Group {
		t.Errorf("received %+v", in)
	}
}
