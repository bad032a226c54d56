package telegram_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

// result is an answer that says OK.
func result(r string) telegramtest.Fault {
	return telegramtest.Fault{Body: `{"ok":true,"result":` + r + `}`}
}

// See TestTheLibraryReturnsNeitherAWebhookNorAnErrorIfTheResultIsNull.
func TestAResultThatIsNullIsAskedForAgain(t *testing.T) {
	t.Parallel()
	null := result("null")
	r := newRig(t)
	for _, method := range []string{"getMe", "getUpdates", "getFile"} {
		r.server.FailNext(method, null)
	}
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.run()
	if got := r.wait(1)[0]; len(got.Media) != 1 {
		t.Errorf("got %+v", got)
	}
	if n := r.logs.FilterMessageSnippet("will retry").Len(); n != 3 {
		t.Errorf("%d results were missed:\n%s", n, r.logged())
	}

	hooked := newHookRig(t, func(o *telegram.Options) { o.Timing.Watch = time.Millisecond })
	hooked.server.FailNext("getWebhookInfo", null, null)
	hooked.run()
	hooked.until("getWebhookInfo", func(c []telegramtest.Call) bool { return len(c) > 3 })
	if n := len(hooked.server.Calls("setWebhook")); n != 1 {
		t.Errorf("the webhook was set %d times", n)
	}
}

func TestABotWithoutAnIDIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.FailNext("getMe", result("{}"))
	r.server.UserSends(person, "hello")
	r.run()
	r.wait(1)
	if id, err := r.home.memory.Load(t.Context(), "bot"); err != nil || id == "0" {
		t.Errorf("the state is that of the bot %q, %v", id, err)
	}
}

func TestExamineSaysThatAResultIsNull(t *testing.T) {
	s := telegramtest.New(t)
	s.FailNext("getWebhookInfo", result("null"))
	expect(t, examine(t, s, channels.ExamineOptions{}), "telegram.webhook", channels.Bad, "null")
	s.FailNext("getMe", result("null"))
	expect(t, examine(t, s, channels.ExamineOptions{}), "telegram.token", channels.Bad, "null")
}

// A receipt must name the message. The gateway repeats what is unknown, and says so.
func TestASendWhoseAnswerHasNoIDIsUnknown(t *testing.T) {
	r := newRig(t)
	picture := r.file("a.png", telegramtest.PNG(10, 10))
	for method, o := range map[string]channels.Outgoing{
		"sendMessage":    r.hello("hello"),
		"sendPhoto":      r.plan(channels.Message{Chat: chatOf("42"), Media: []channels.File{picture}})[0],
		"sendMediaGroup": r.plan(channels.Message{Chat: chatOf("42"), Media: []channels.File{picture, picture}})[0],
	} {
		for _, sent := range []string{`null`, `{}`, `[]`, `[null]`, `[{}]`, `true`, `{"message_id":null}`} {
			r.server.FailNext(method, result(sent))
			if se := r.sendError(t.Context(), o); !se.Unknown || se.Permanent {
				t.Errorf("%s answered with %s means %+v", method, sent, se)
			}
		}
	}
}

func TestAResultIsReadWhateverItsOtherFieldsAre(t *testing.T) {
	const strangeUser = `{"id":1,"username":"nano_test_bot","first_name":["new"],"has_topics_enabled":"often"}`
	const strangeHook = `{"url":"","pending_update_count":0,"max_connections":"many","allowed_updates":{}}`
	const strangeFile = `{"file_id":7,"file_unique_id":{},"file_path":"documents/file_0.txt"}`
	for text, into := range map[string]any{strangeUser: &models.User{}, strangeHook: &models.WebhookInfo{}, strangeFile: &models.File{}} {
		if json.Unmarshal([]byte(text), into) == nil {
			t.Errorf("the library can decode %s", text)
		}
	}
	s := telegramtest.New(t)
	s.FailNext("getMe", result(strangeUser))
	s.FailNext("getWebhookInfo", result(strangeHook))
	found := examine(t, s, channels.ExamineOptions{})
	expect(t, found, "telegram.token", channels.Good, "@nano_test_bot")
	expect(t, found, "telegram.webhook", channels.Good, "none")

	r := newRig(t)
	r.server.FailNext("getFile", result(strangeFile))
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.run()
	r.wait(1)
	if n := len(r.server.Calls("getFile")); n != 1 {
		t.Errorf("the file was asked for %d times:\n%s", n, r.logged())
	}
}

// Entities and contacts are small objects within a message, which the library has types for.
func TestAMessageIsReceivedWhateverItsPartsSayThatNobodyReads(t *testing.T) {
	r := newRig(t)
	for i, fields := range []string{
		`"text":"hello","entities":[{"type":"text_mention","offset":0,"length":5,"language":1,"user":{"id":43,"is_premium":"very"}}]`,
		`"contact":{"phone_number":"+1","first_name":"Bob","user_id":"43"}`,
		`"location":{"latitude":1,"longitude":2,"heading":"north"}`,
		`"venue":{"title":"Home","address":"Here","location":{"latitude":1,"longitude":2,"live_period":"long"},"google_place_id":3}`,
	} {
		r.server.InjectUpdate(`{"message":{"message_id":` + itoa(i+1) + `,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ada"},` + fields + `}}`)
	}
	r.run()
	got := r.settled()
	if len(got) != 4 {
		t.Errorf("got %+v\n%s", got, r.logged())
	}
}
