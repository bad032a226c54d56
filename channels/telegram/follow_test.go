package telegram_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

// waitForComment makes a text wait for the messages that it introduces for as long as the test
// takes.
func waitForComment(o *telegram.Options) { o.Timing.Comment = time.Hour }

func TestACommentIsOneMessageWithItsForwardByWebhook(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, waitForComment)
	r.start()
	r.server.UserSends(person, "is this true?")
	r.forwards(person, 900, "first")
	r.forwards(person, 901, "second")
	r.server.UserSends(person, "/help")
	got := r.WaitForMessages(2)
	if got[0].Text != "is this true?\nfirst\nsecond" || got[0].Comment() != "is this true?" || got[1].Text != "/help" {
		t.Errorf("received %+v", got)
	}
}

func TestATextIsOneMessageWithItsAlbumByWebhook(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, waitForComment, func(o *telegram.Options) { o.Timing.Quiet = time.Hour })
	r.start()
	r.server.UserSends(person, "look at these")
	// A full album is complete, however long its parts take.
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "holiday"}, photos(10)...)
	got := r.WaitForMessages(1)[0]
	if got.Text != "look at these\nholiday" || len(got.Media) != 10 {
		t.Errorf("received %+v", got)
	}
}

func TestALoneTextByWebhookIsReceivedAfterAMoment(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, func(o *telegram.Options) { o.Timing.Comment = 0 })
	r.start()
	r.server.UserSends(person, "hello")
	if got := r.WaitForMessages(1)[0]; got.Text != "hello" {
		t.Errorf("received %+v", got)
	}
}

func TestTwoShortMessagesByWebhookStayTwoAndTheSecondEndsTheWaitOfTheFirst(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, waitForComment)
	r.start()
	r.server.UserSends(person, "one")
	r.server.UserSends(person, "two")
	if got := r.WaitForMessages(1); got[0].Text != "one" {
		t.Errorf("received %+v", got)
	}
	r.server.UserSends(person, "/stop")
	if got := r.WaitForMessages(3); got[1].Text != "two" || got[2].Text != "/stop" {
		t.Errorf("received %+v", got)
	}
}

func TestAButtonEndsTheWaitOfAText(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, waitForComment)
	r.start()
	r.server.UserSends(person, "one")
	r.receivedAll()
	r.server.InjectUpdate(`{"callback_query":{"id":"1","from":{"id":42},"data":"x","message":{"message_id":5,"date":1,"chat":{"id":42,"type":"private"}}}}`)
	r.WaitForMessages(2)
}

func TestACommentByWebhookSurvivesARestartBeforeItsForward(t *testing.T) {
	t.Parallel()
	first := newWebhookChannel(t, waitForComment)
	stop := first.start()
	first.server.UserSends(person, "is this true?")
	first.receivedAll()
	stop()
	if got := first.Recorder.Messages(); len(got) != 0 {
		t.Fatalf("received %+v", got)
	}
	second := first.restart(waitForComment)
	second.start()
	if got := second.WaitForMessages(1); got[0].Text != "is this true?" {
		t.Errorf("received %+v", got)
	}
}

func TestAForwardAfterATextToTheBotInAGroupIsReceivedAsWell(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.start()
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: person, Text: "@nano_test_bot is this true?"})
	r.WaitForMessages(1)
	r.forwards(group, 900, "news")
	got := r.WaitForMessages(2)
	if !got[1].Follows || got[1].Forwarded == nil || got[0].Follows {
		t.Errorf("received %+v", got)
	}
	r.server.InjectUpdate(strings.ReplaceAll(`{"message":{"message_id":950,"date":1,"chat":{"id":CHAT,"type":"group"},"from":{"id":99,"first_name":"Eve"},
		"text":"gossip","forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}}}`, "CHAT", "-77"))
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: person, Text: "@nano_test_bot next"})
	r.expectTexts("is this true?", "news", "next")
}
