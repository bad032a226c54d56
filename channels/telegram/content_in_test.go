package telegram_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// received injects a message with the given JSON fields, and returns it as received.
func received(t *testing.T, fields string) channels.Incoming {
	t.Helper()
	r := newTestChannel(t)
	r.server.InjectUpdate(`{"message":{"message_id":7,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ada"},` + fields + `}}`)
	r.start()
	return r.onlyMessage()
}

func TestFormattingArrivesAsMarkdown(t *testing.T) {
	entity := func(kind string, offset, length int, more string) string {
		return fmt.Sprintf(`{"type":%q,"offset":%d,"length":%d%s}`, kind, offset, length, more)
	}
	for _, c := range []struct {
		text, want string
		entities   []string
	}{
		{"plain *stays* [as] it_is \\ `", "plain *stays* [as] it_is \\ `", nil},
		{"see https://x.org/a_b_c now", "see https://x.org/a_b_c now", []string{entity("url", 4, 19, "")}},
		{"read this", "read [this](https://x.org/a%28b%29)", []string{entity("text_link", 5, 4, `,"url":"https://x.org/a(b)"`)}},
		{"😀 bold a_b", "😀 **bold** a\\_b", []string{entity("bold", 3, 4, "")}},
		{"bold  both", "**bold  _both_**", []string{entity("bold", 0, 10, ""), entity("italic", 6, 4, "")}},
		{"run ls * now", "run `ls *` now", []string{entity("code", 4, 4, "")}},
		{"look:\na_b\nend", "look:\n```go\na_b\n```\nend", []string{entity("pre", 6, 3, `,"language":"go"`)}},
		{"one\ntwo\nthree", "> one\n> two\nthree", []string{entity("blockquote", 0, 7, "")}},
		{"a b", "a b", []string{entity("bold", 5, 9, ""), entity("underline", 0, 1, "")}},
	} {
		got := received(t, fmt.Sprintf(`"text":%q,"entities":[%s]`, c.text, strings.Join(c.entities, ",")))
		if got.Text != c.want {
			t.Errorf("%q is %q instead of %q", c.text, got.Text, c.want)
		}
	}
}

func TestAForwardedMessageSaysWhereItComesFrom(t *testing.T) {
	for origin, want := range map[string]string{
		`{"type":"user","date":86400,"sender_user":{"id":5,"first_name":"Bob","username":"bob"}}`:                         `5 Bob bob   1970-01-02T00:00:00Z`,
		`{"type":"hidden_user","date":86400,"sender_user_name":"Eve"}`:                                                    ` Eve    1970-01-02T00:00:00Z`,
		`{"type":"channel","date":86400,"chat":{"id":-1005,"type":"channel","title":"News"},"message_id":3}`:              `   -1005 News 1970-01-02T00:00:00Z`,
		`{"type":"chat","date":86400,"sender_chat":{"id":-1006,"type":"supergroup","title":"G"},"author_signature":"Ed"}`: ` Ed  -1006 G 1970-01-02T00:00:00Z`,
		`{"type":"telepathy","date":"soon"}`:                                                                              `     `,
	} {
		f := received(t, `"text":"/stop","entities":[{"type":"bot_command","offset":0,"length":5}],"forward_origin":`+origin).Forwarded
		if f == nil {
			t.Fatalf("%s: not forwarded", origin)
		}
		var from channels.User
		var chat channels.SourceChat
		if f.From != nil {
			from = *f.From
		}
		if f.Chat != nil {
			chat = *f.Chat
		}
		wanttest.Equal(t, origin+":", strings.Join([]string{from.ID, from.Name, from.Username, chat.ID, chat.Title, f.Date}, " "), want)
	}
}

func TestAReplyHasTheQuotedPassageAndItsAuthor(t *testing.T) {
	q := received(t, `"text":"why?","quote":{"text":"a part","position":0},
		"reply_to_message":{"message_id":3,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":5,"first_name":"Bob"},"text":"has a part of text"}`).ReplyTo
	if q == nil || q.ID != "3" || q.Text != "a part" || q.User == nil || q.User.Name != "Bob" || q.Chat != nil {
		t.Errorf("the quote is %+v", q)
	}
	q = received(t, `"text":"why?","quote":{"text":"a part","position":0},"external_reply":{"origin":{"type":"channel","date":1,
		"chat":{"id":-1005,"type":"channel","title":"News"},"message_id":9},"chat":{"id":-1005,"type":"channel","title":"News"},"message_id":9}`).ReplyTo
	if q == nil || q.ID != "9" || q.Text != "a part" || q.Chat == nil || q.Chat.Title != "News" || q.Chat.ID != "-1005" {
		t.Errorf("the quote from another chat is %+v", q)
	}
}

func TestAFileHasTheNameThatThePersonGaveIt(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "my report.txt", Content: []byte("x")}})
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "photo", Content: []byte("x")}})
	r.start()
	got := r.WaitForMessages(2)
	if fmt.Sprint(got[0].MediaNames) != "[my report.txt]" || !strings.HasSuffix(got[0].Media[0], "-my_report.txt") || got[1].MediaNames != nil {
		t.Errorf("received %+v", got)
	}
}

func TestAChecklistIsText(t *testing.T) {
	got := received(t, `"checklist":{"title":"Trip","tasks":[{"id":1,"text":"pack","completion_date":5},{"id":2,"text":"go"}]}`)
	wanttest.Equal(t, "received", got.Text, "Checklist: Trip\n- [x] pack\n- [ ] go")
}

func TestWhatCannotBeReadIsAnsweredWithALine(t *testing.T) {
	for field, want := range map[string]string{
		`"story":{"id":1}`: "I cannot read stories.", `"game":{"title":"x"}`: "I cannot read games.",
		`"paid_media":{"star_count":1}`: "I cannot read paid media.", `"giveaway":{"winner_count":1}`: "I cannot read giveaways.",
	} {
		r := newTestChannel(t)
		r.server.InjectUpdate(`{"message":{"message_id":7,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ada"},` + field + `}}`)
		r.start()
		wanttest.Equal(t, field+":", r.server.WaitForCount(t, person, 1)[0].Text, want)
		r.expectNoMessage()
	}
}
