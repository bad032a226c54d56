package telegram_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

func TestInGroupsTheSettingDecidesWhichMessagesAreReceived(t *testing.T) {
	type received map[string]string // the received text by setting; missing if nothing is received
	for _, c := range []struct {
		said string
		want received
	}{
		{"hello all", received{"all": "hello all"}},
		{"@nano_test_bot hello", received{"all": "hello", "mention": "hello"}},
		{"hello @Nano_Test_Bot, you", received{"all": "hello , you", "mention": "hello , you"}},
		{"👨‍👩‍👧‍👦 hey @nano_test_bot do it", received{"all": "👨‍👩‍👧‍👦 hey do it", "mention": "👨‍👩‍👧‍👦 hey do it"}},
		{"@other_bot hello", received{"all": "@other_bot hello"}},
		{"/stop@nano_test_bot", received{"all": "/stop", "mention": "/stop"}},
		{"/ask@nano_test_bot what is it", received{"all": "/ask what is it", "mention": "/ask what is it"}},
		{"/stop@other_bot", received{}},
		{"/stop", received{"all": "/stop", "mention": "/stop"}},
		{"/roll", received{"all": "/roll"}},
		{"/code_review now", received{"all": "/code_review now", "mention": "/code_review now"}}, // as the menu has it
		{"mail me@nano_test_bot.org", received{"all": "mail me@nano_test_bot.org"}},
	} {
		for _, setting := range []string{"all", "mention", "off"} {
			t.Run(setting+" "+c.said, func(t *testing.T) {
				r := newTestChannel(t, func(o *telegram.Options) { o.Groups = setting })
				r.SetMenu([]channels.Command{{Name: "stop", Help: "stop"}, {Name: "code-review", Help: "review"}})
				r.server.AddChat(telegramtest.Chat{ID: group})
				r.server.UserSends(group, c.said)
				r.start()
				want, ok := c.want[setting]
				if !ok {
					r.expectNoMessage()
					return
				}
				if got := r.onlyMessage(); got.Text != want || got.Chat != chatOf("-77") || got.User.ID == "" {
					t.Errorf("received %+v, want %q", got, want)
				}
			})
		}
	}
}

func TestAReplyToTheBotIsReceivedAndAReplyToOthersIsNot(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.start()
	r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "I am here"})
	mine := r.server.WaitForCount(t, group, 1)[0]
	theirs := r.server.UserSends(group, "so am I")
	r.server.UserPosts(telegramtest.UserPost{Chat: group, Text: "to you", ReplyTo: theirs.ID})
	r.server.UserPosts(telegramtest.UserPost{Chat: group, Text: "to the bot", ReplyTo: mine.ID})
	got := r.onlyMessage()
	if got.Text != "to the bot" || got.ReplyTo == nil || got.ReplyTo.Text != "I am here" {
		t.Errorf("received %+v", got)
	}
}

func TestACommandInAPrivateChatMayNameTheBot(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserSends(person, "/stop@nano_test_bot now")
	r.start()
	if got := r.onlyMessage(); got.Text != "/stop now" {
		t.Errorf("received %q", got.Text)
	}
}

func TestMessagesOfOtherBotsAreIgnored(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) { o.Groups = "all" })
	r.server.AddUser(telegramtest.User{ID: 99, IsBot: true, FirstName: "Bot"})
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: 99, Text: "@nano_test_bot let us talk for ever"})
	r.start()
	r.expectNoMessage()
}

func TestEachTopicIsAChatOfItsOwn(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) { o.Groups = "all" })
	r.start()
	one := r.server.AddTopic(forum, "one")
	two := r.server.AddTopic(forum, "two")
	a := r.server.UserPosts(telegramtest.UserPost{Chat: forum, Topic: one, Text: "in one"})
	r.server.UserPosts(telegramtest.UserPost{Chat: forum, Topic: two, Text: "in two"})
	r.server.UserPosts(telegramtest.UserPost{Chat: forum, Text: "in general"})
	got := r.WaitForMessages(3) // chats are received side by side, in no order
	said := []string{"in one", "in two", "in general"}
	slices.SortFunc(got, func(a, b channels.Incoming) int { return slices.Index(said, a.Text) - slices.Index(said, b.Text) })
	for i, want := range []string{fmt.Sprintf("%d_%d", forum, one), fmt.Sprintf("%d_%d", forum, two), strconv.FormatInt(forum, 10)} {
		if got[i].Chat != chatOf(want) || got[i].ReplyTo != nil {
			t.Errorf("%q is from %s, want %s", got[i].Text, got[i].Chat, want)
		}
	}
	if got[0].ThreadID != strconv.Itoa(one) || got[2].ThreadID != "" {
		t.Errorf("the threads are %q and %q", got[0].ThreadID, got[2].ThreadID)
	}
	r.SendAnswer(channels.Message{Chat: got[0].Chat, Text: "an answer", ReplyTo: got[0].ID})
	m := r.server.WaitForCount(t, forum, 1)[0]
	if m.Thread != one || m.ReplyTo == nil || m.ReplyTo.ID != a.ID {
		t.Errorf("the answer is %+v", m)
	}
}

func TestAThreadOfRepliesIsNoTopic(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) { o.Groups = "all" })
	const super = -1001234567890
	r.server.AddChat(telegramtest.Chat{ID: super})
	m := r.server.UserSends(super, "first")
	r.server.UserPosts(telegramtest.UserPost{Chat: super, Text: "second", ReplyTo: m.ID})
	r.start()
	for _, in := range r.WaitForMessages(2) {
		if in.Chat != chatOf(strconv.Itoa(super)) {
			t.Errorf("received %+v", in)
		}
	}
}

func TestAPressInATopicBelongsToTheTopic(t *testing.T) {
	r := newTestChannel(t)
	r.start()
	topic := r.server.AddTopic(forum, "one")
	chat := chatOf(fmt.Sprintf("%d_%d", forum, topic))
	r.SendAnswer(channels.Message{Chat: chat, Text: "which?", Buttons: []channels.Button{{Label: "Yes", Data: "y"}}})
	r.server.UserPresses(forum, person, r.server.WaitForCount(t, forum, 1)[0].ID, "y")
	if got := r.WaitForMessages(1)[0]; got.Chat != chat || got.Press != "y" {
		t.Errorf("received %+v", got)
	}
}

func TestAGroupThatBecameASupergroupIsWrittenToThere(t *testing.T) {
	const super = int64(-1001234567890)
	for _, running := range []bool{false, true} {
		r := newTestChannel(t)
		r.server.AddChat(telegramtest.Chat{ID: group})
		if running { // it is told, and need not find out
			r.start()
			r.server.WaitForCalls(r.t, "getUpdates", func(c []telegramtest.Call) bool { return len(c) == 1 })
		}
		r.server.Migrate(group, super)
		if running {
			r.server.UserSends(person, "now")
			r.WaitForMessages(1)
		}
		r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "hello"})
		r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "again"})
		if shown := r.server.BotMessages(super); len(shown) != 2 || shown[0].Text != "hello" {
			t.Errorf("the supergroup shows %+v", shown)
		}
		want := 3
		if running {
			want = 2
		}
		if calls := r.server.Calls("sendMessage"); len(calls) != want {
			t.Errorf("%d calls were made, want %d", len(calls), want)
		}
	}
}
