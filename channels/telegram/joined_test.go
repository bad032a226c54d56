package telegram_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// forwards makes a person forward a message of Bob.
func (r *testChannel) forwards(chat, id int64, text string) {
	kind := "private"
	if chat < 0 {
		kind = "group"
	}
	r.server.InjectUpdate(fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"chat":{"id":%d,"type":%q},"from":{"id":42,"first_name":"Ada","last_name":"L","username":"ada"},
		"text":%q,"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}}}`, id, chat, kind, text))
}

// expectTexts checks the texts of all messages so far.
func (r *testChannel) expectTexts(want ...string) []channels.Incoming {
	r.t.Helper()
	all := r.receivedSoFar()
	var got []string
	for _, in := range all {
		got = append(got, in.Text)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.t.Fatalf("received %.200q instead of %.200q", got, want)
	}
	return all
}

// waitForRest makes the channel wait for the rest of a paste for as long as the test takes.
func waitForRest(o *telegram.Options) { o.Timing.Paste = time.Hour }

func TestAPasteThatTelegramCutsIsOneMessage(t *testing.T) {
	r := newTestChannel(t, waitForRest)
	first, second := strings.Repeat("😀", 2048), strings.Repeat("b", 4001)
	m := r.server.UserSends(person, first)
	r.server.UserSends(person, second)
	r.server.UserSends(person, "end")
	r.server.UserSends(person, "another")
	r.start()
	got := r.expectTexts(first+second+"end", "another")[0]
	if got.ID != strconv.Itoa(m.ID) || len(got.Pieces) != 3 {
		t.Errorf("it is %s of %+v", got.ID, got.Pieces)
	}
}

func TestAPasteHasAtMostTenPiecesAndFortyThousandUnits(t *testing.T) {
	for name, c := range map[string]struct{ units, sent, joined int }{
		"pieces": {4000, 12, 10},
		"units":  {4096, 11, 9},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t, waitForRest)
			for i := range c.sent {
				r.server.UserSends(person, strings.Repeat(string(rune('a'+i)), c.units))
			}
			r.server.UserSends(person, "end")
			r.start()
			all := r.receivedSoFar()
			if len(all) != 2 || len(all[0].Pieces) != c.joined || len(all[1].Pieces) != c.sent+1-c.joined {
				t.Fatalf("received %d messages", len(all))
			}
			wanttest.Equal(t, "the first has … units:", channels.UTF16(all[0].Text), c.joined*c.units)
		})
	}
}

func TestACommandIsNotTheRestOfAPaste(t *testing.T) {
	r := newTestChannel(t, waitForRest)
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop"}})
	first := strings.Repeat("x", 4001)
	r.server.UserSends(person, first)
	r.server.UserSends(person, "/stop")
	r.start()
	r.expectTexts(first, "/stop")
}

func TestACommandOvertakesThePasteOfAnotherPerson(t *testing.T) {
	r := newTestChannel(t, waitForRest, func(o *telegram.Options) { o.Groups = "all" })
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop"}})
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: other, Text: strings.Repeat("x", 4001)})
	r.server.UserSends(group, "/stop")
	r.start()
	if got := r.WaitForMessages(1)[0]; got.Text != "/stop" {
		t.Errorf("received %+v", got)
	}
}

func TestALongTextWithoutARestIsReceived(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) { o.Timing.Paste = time.Millisecond })
	long := strings.Repeat("a", 4000)
	r.server.UserSends(person, long)
	r.start()
	r.expectTexts(long)
	r.server.UserSends(person, "later")
	r.expectTexts(long, "later")
}

func TestShortMessagesAndThoseOfOthersAreNotJoined(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) { o.Groups, o.Timing.Paste = "all", 200*time.Millisecond })
	long := strings.Repeat("a", 4000)
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: person, Text: "one"})
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: person, Text: long})
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: other, Text: "two"})
	r.start()
	r.expectTexts("one", long, "two")
}

func TestACommentIsOneMessageWithItsForward(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserSends(person, "is this true?")
	r.forwards(person, 900, "first")
	r.forwards(person, 901, "second")
	r.server.UserSends(person, "next")
	r.start()
	got := r.expectTexts("is this true?\nfirst\nsecond", "next")[0]
	if got.Forwarded == nil || got.Forwarded.From.Name != "Bob" || got.Comment() != "is this true?" {
		t.Errorf("received %+v with the comment %q", got, got.Comment())
	}
}

func TestForwardsWithoutACommentStayApart(t *testing.T) {
	r := newTestChannel(t)
	r.forwards(person, 900, "first")
	r.forwards(person, 901, "second")
	r.start()
	r.expectTexts("first", "second")
}

func TestATextIsOneMessageWithItsAlbum(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserSends(person, "look at these")
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "holiday"}, photos(3)...)
	r.start()
	got := r.expectTexts("look at these\nholiday")[0]
	if len(got.Media) != 3 || len(got.Pieces) != 4 {
		t.Errorf("received %+v", got)
	}
}

func TestAForwardNeedNotMentionTheBotIfItsCommentDoes(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.server.UserPosts(telegramtest.UserPost{Chat: group, From: person, Text: "@nano_test_bot is this true?"})
	r.forwards(group, 900, "news")
	r.forwards(group, 901, "more news")
	r.start()
	r.expectTexts("is this true?\nnews\nmore news")
}

func TestAPasteSurvivesARestartBetweenItsPieces(t *testing.T) {
	s, h := telegramtest.New(t), newBotState(t)
	first := newTestChannelOn(t, s, h, waitForRest)
	long := strings.Repeat("a", 4096)
	s.UserSends(person, long)
	stop := first.start()
	first.waitForConfirmation(int64(s.InjectUpdate(`{"poll":{}}`))) // Telegram has forgotten it
	stop()
	if got := first.Recorder.Messages(); len(got) != 0 {
		t.Fatalf("received %d messages", len(got))
	}
	s.UserSends(person, "end")
	second := newTestChannelOn(t, s, h, waitForRest)
	second.Resume(h.memory.Cursor())
	second.start()
	second.WaitForMessages(1)
	second.expectTexts(long + "end")
}
