package telegram_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// resultFault returns a success response with this result.
func resultFault(r string) telegramtest.Fault {
	return telegramtest.Fault{Body: `{"ok":true,"result":` + r + `}`}
}

// See TestTheLibraryReturnsNeitherAWebhookNorAnErrorIfTheResultIsNull.
func TestAResultThatIsNullIsAskedForAgain(t *testing.T) {
	t.Parallel()
	null := resultFault("null")
	r := newTestChannel(t)
	for _, method := range []string{"getMe", "getUpdates", "getFile"} {
		r.server.FailNext(method, null)
	}
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.start()
	if got := r.WaitForMessages(1)[0]; len(got.Media) != 1 {
		t.Errorf("got %+v", got)
	}
	if n := r.Logs.FilterMessageSnippet("will retry").Len(); n != 3 {
		t.Errorf("%d results were missed:\n%s", n, r.LogText())
	}

	hooked := newWebhookChannel(t, func(o *telegram.Options) { o.Timing.Watch = time.Millisecond })
	hooked.server.FailNext("getWebhookInfo", null, null)
	hooked.start()
	hooked.server.WaitForCalls(hooked.t, "getWebhookInfo", func(c []telegramtest.Call) bool { return len(c) > 3 })
	wanttest.Equal(t, "the webhook was set … times:", len(hooked.server.Calls("setWebhook")), 1)
}

func TestABotWithoutAnIDIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t)
	r.server.FailNext("getMe", resultFault("{}"))
	r.server.UserSends(person, "hello")
	r.start()
	r.WaitForMessages(1)
	if id, err := r.state.memory.Load(t.Context(), "bot"); err != nil || id == "0" {
		t.Errorf("the state is that of the bot %q, %v", id, err)
	}
}

func TestExamineSaysThatAResultIsNull(t *testing.T) {
	s := telegramtest.New(t)
	s.FailNext("getWebhookInfo", resultFault("null"))
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{}), "telegram.webhook", channels.Bad, "null")
	s.FailNext("getMe", resultFault("null"))
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{}), "telegram.token", channels.Bad, "null")
}

// A receipt must name the message. The gateway repeats what is unknown, and says so.
func TestASendWhoseAnswerHasNoIDIsUnknown(t *testing.T) {
	r := newTestChannel(t)
	picture := r.WriteFile("a.png", telegramtest.PNG(10, 10))
	for method, o := range map[string]channels.Outgoing{
		"sendMessage":    r.PlanText("hello"),
		"sendPhoto":      r.MustPlan(channels.Message{Chat: chatOf("42"), Media: []channels.File{picture}})[0],
		"sendMediaGroup": r.MustPlan(channels.Message{Chat: chatOf("42"), Media: []channels.File{picture, picture}})[0],
	} {
		for _, sent := range []string{`null`, `{}`, `[]`, `[null]`, `[{}]`, `true`, `{"message_id":null}`} {
			r.server.FailNext(method, resultFault(sent))
			if se := r.MustFailSend(t.Context(), o); !se.Unknown || se.Permanent {
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
	s.FailNext("getMe", resultFault(strangeUser))
	s.FailNext("getWebhookInfo", resultFault(strangeHook))
	found := examineChannel(t, s, channels.ExamineOptions{})
	expectFinding(t, found, "telegram.token", channels.Good, "@nano_test_bot")
	expectFinding(t, found, "telegram.webhook", channels.Good, "none")

	r := newTestChannel(t)
	r.server.FailNext("getFile", resultFault(strangeFile))
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.start()
	r.WaitForMessages(1)
	if n := len(r.server.Calls("getFile")); n != 1 {
		t.Errorf("the file was asked for %d times:\n%s", n, r.LogText())
	}
}

// Entities and contacts are small objects within a message, which the library has types for.
func TestAMessageIsReceivedWhateverItsPartsSayThatNobodyReads(t *testing.T) {
	r := newTestChannel(t)
	for i, fields := range []string{
		`"text":"hello","entities":[{"type":"text_mention","offset":0,"length":5,"language":1,"user":{"id":43,"is_premium":"very"}}]`,
		`"contact":{"phone_number":"+1","first_name":"Bob","user_id":"43"}`,
		`"location":{"latitude":1,"longitude":2,"heading":"north"}`,
		`"venue":{"title":"Home","address":"Here","location":{"latitude":1,"longitude":2,"live_period":"long"},"google_place_id":3}`,
	} {
		r.server.InjectUpdate(`{"message":{"message_id":` + itoa(i+1) + `,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ada"},` + fields + `}}`)
	}
	r.start()
	got := r.receivedSoFar()
	if len(got) != 4 {
		t.Errorf("got %+v\n%s", got, r.LogText())
	}
}
