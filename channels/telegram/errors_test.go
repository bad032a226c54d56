package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/addrtest"
	"nanobot/internal/musttest"
)

func asSendError(err error, se **channels.SendError) bool { return errors.As(err, se) }

func TestErrorsAreClassifiedForTheGateway(t *testing.T) {
	for name, c := range map[string]struct {
		fault              telegramtest.Fault
		permanent, unknown bool
		after              time.Duration
	}{
		"too many":       {fault: telegramtest.RateLimited(3), after: 3 * time.Second},
		"blocked":        {fault: telegramtest.ErrorResponse(403, "Forbidden: bot was blocked by the user"), permanent: true},
		"kicked":         {fault: telegramtest.ErrorResponse(403, "Forbidden: bot was kicked from the group chat"), permanent: true},
		"deactivated":    {fault: telegramtest.ErrorResponse(403, "Forbidden: user is deactivated"), permanent: true},
		"not found":      {fault: telegramtest.ErrorResponse(400, "Bad Request: chat not found"), permanent: true},
		"too large":      {fault: telegramtest.ErrorResponse(413, "Request Entity Too Large"), permanent: true},
		"server error":   {fault: telegramtest.ErrorResponse(500, "Internal Server Error"), unknown: true},
		"gateway late":   {fault: telegramtest.Fault{Status: 504, Body: "<html>504 Gateway Time-out</html>"}, unknown: true},
		"wrong token":    {fault: telegramtest.ErrorResponse(401, "Unauthorized")},
		"another server": {fault: telegramtest.Fault{Status: 404, Body: "<html>nothing here</html>"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			r.server.FailNext("sendMessage", c.fault)
			o := r.PlanText("hello")
			se := r.MustFailSend(t.Context(), o)
			if se.Permanent != c.permanent || se.Unknown != c.unknown || se.After != c.after {
				t.Errorf("got %+v", se)
			}
			if shown := r.server.BotMessages(person); len(shown) != 0 {
				t.Errorf("shown are %+v", shown)
			}
		})
	}
}

func TestASendThatTakesEffectAndIsThenAnsweredWithAServerErrorIsUnknown(t *testing.T) {
	r := newTestChannel(t)
	picture := r.WriteFile("a.png", telegramtest.PNG(10, 10))
	messages := map[string]channels.Message{
		"text":     {Text: "hello"},
		"buttons":  {Text: "which?", Buttons: []channels.Button{{Label: "Yes", Data: "1"}}},
		"photo":    {Text: "hello", Media: []channels.File{picture}},
		"document": {Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}},
		"voice":    {Media: []channels.File{r.WriteFile("a.ogg", []byte("x"))}},
		"album":    {Text: "hello", Media: []channels.File{picture, picture}},
	}
	for name, m := range messages {
		for _, status := range []int{500, 502, 503, 504} {
			for kind, body := range map[string]string{"as JSON": "", "as HTML": "<html>oops</html>", "cut short": `{"ok":false,"error_co`} {
				t.Run(name+" "+strconv.Itoa(status)+" "+kind, func(t *testing.T) {
					r := newTestChannel(t)
					fault := telegramtest.ErrorAfterEffect(status)
					fault.Body = body
					r.server.FailNext("", fault)
					m.Chat, m.Kind = chatOf("42"), channels.Answer
					o := r.MustPlan(m)[0]
					if se := r.MustFailSend(t.Context(), o); !se.Unknown || se.Permanent || se.After != 0 {
						t.Errorf("got %+v", se)
					}
					before := len(r.server.BotMessages(person))
					if before == 0 {
						t.Fatal("the call had no effect")
					}
					o.Repeat = true
					musttest.Get(r.Send(t.Context(), o))(t)
					if again := r.server.BotMessages(person)[before]; !strings.HasPrefix(again.TextOrCaption(), "↻") {
						t.Errorf("the repetition is shown as %q", again.TextOrCaption())
					}
				})
			}
		}
	}
}

func TestAnEditThatIsAnsweredWithAServerErrorIsMadeAgain(t *testing.T) {
	r := newTestChannel(t)
	id := r.SendAnswer(channels.Message{Text: "one"})[0].ID
	next := r.MustPlan(channels.Message{Chat: chatOf("42"), Text: "two"})[0]
	r.server.FailNext("editMessageText", telegramtest.ErrorAfterEffect(502))
	var se *channels.SendError
	if err := r.Edit(t.Context(), id, next); !asSendError(err, &se) || !se.Unknown {
		t.Errorf("Edit returned %v", err)
	}
	if err := r.Edit(t.Context(), id, next); err != nil { // "message is not modified" is success
		t.Error(err)
	}
	r.server.FailNext("deleteMessage", telegramtest.ErrorAfterEffect(500))
	if err := r.Remove(t.Context(), chatOf("42"), id); !asSendError(err, &se) || !se.Unknown {
		t.Errorf("Remove returned %v", err)
	}
	if err := r.Remove(t.Context(), chatOf("42"), id); err != nil {
		t.Error(err)
	}
}

func TestBlockedAndForgottenChatsAreFinal(t *testing.T) {
	r := newTestChannel(t)
	r.server.Block(person)
	if se := r.MustFailSend(t.Context(), r.PlanText("hello")); !se.Permanent || !se.Closed {
		t.Errorf("got %+v", se)
	}
	var se *channels.SendError
	if err := r.Typing(t.Context(), chatOf("42")); !asSendError(err, &se) || !se.Closed {
		t.Errorf("Typing returned %v", err)
	}
	r.server.DeleteChat(person)
	if se := r.MustFailSend(t.Context(), r.PlanText("hello")); !se.Permanent || se.Closed {
		t.Errorf("got %+v", se)
	}
}

func TestATimeoutAfterTheRequestWasWrittenIsUnknown(t *testing.T) {
	r := newTestChannel(t)
	never := make(chan struct{})
	defer close(never)
	r.server.FailNext("sendMessage", telegramtest.Fault{HangUntil: never})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		r.server.AwaitCalls("sendMessage", waitLimit, func(c []telegramtest.Call) bool { return len(c) == 1 })
		cancel()
	}()
	if se := r.MustFailSend(ctx, r.PlanText("hello")); !se.Unknown || se.Permanent {
		t.Errorf("got %+v", se)
	}
}

func TestAServerThatIsNotThereMayBeTriedAgain(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) { o.APIBase = "http://" + addrtest.Reserve(t) })
	if se := r.MustFailSend(t.Context(), r.PlanText("hello")); se.Unknown || se.Permanent {
		t.Errorf("got %+v", se)
	}
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	r := newTestChannel(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if se := r.MustFailSend(ctx, r.PlanText("hello")); se.Unknown || se.Permanent || !errors.Is(se, context.Canceled) {
		t.Errorf("got %+v", se)
	}
	if calls := r.server.Calls(""); len(calls) != 0 {
		t.Errorf("the calls are %+v", calls)
	}
}

func TestWhenTheFormattingIsRefusedTheTextIsSentPlain(t *testing.T) {
	r := newTestChannel(t)
	refused := telegramtest.ErrorResponse(400, "Bad Request: can't parse entities: ENTITY_BOUNDS_INVALID")
	r.server.FailNext("sendMessage", refused)
	r.server.FailNext("sendPhoto", refused)
	r.server.FailNext("sendMediaGroup", refused)
	picture := r.WriteFile("a.png", telegramtest.PNG(10, 10))
	r.SendAnswer(channels.Message{Text: "**bold** words"})
	r.SendAnswer(channels.Message{Text: "**bold** words", Media: []channels.File{picture}})
	r.SendAnswer(channels.Message{Text: "**bold** words", Media: []channels.File{picture, picture}})
	shown := r.server.BotMessages(person)
	if len(shown) != 4 {
		t.Fatalf("shown are %+v", shown)
	}
	for _, m := range shown[:3] {
		if m.TextOrCaption() != "bold words" || len(m.Entities)+len(m.CaptionEntities) != 0 {
			t.Errorf("shown is %+v", m)
		}
	}
	r.server.FailNext("sendMessage", refused)
	if se := r.MustFailSend(t.Context(), r.PlanText("plain already")); !se.Permanent {
		t.Errorf("got %+v", se)
	}
}

func TestAfterAFloodErrorOnlyThatChatWaits(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddUser(telegramtest.User{ID: other})
	r.server.FailNext("sendMessage", telegramtest.RateLimited(3600))
	r.MustFailSend(t.Context(), r.PlanText("hello"))
	if se := r.MustFailSend(t.Context(), r.PlanText("hello")); se.After < 59*time.Minute || se.Permanent || se.Unknown {
		t.Errorf("got %+v", se)
	}
	if err := r.Typing(t.Context(), chatOf("42")); err != nil {
		t.Error(err)
	}
	if calls := r.server.Calls(""); len(calls) != 1 {
		t.Errorf("%d calls were made", len(calls))
	}
	r.SendAnswer(channels.Message{Chat: chatOf("43"), Text: "hello"})
}

func TestAFileThatTelegramDoesNotTakeIsNamedAndItsCaptionArrives(t *testing.T) {
	r := newTestChannel(t)
	picture := r.WriteFile("a.png", telegramtest.PNG(10, 10))
	r.SendAnswer(channels.Message{Text: "nothing in it", Media: []channels.File{r.WriteFile("empty.pdf", nil)}})
	shown := r.server.BotMessages(person)
	if kindsOf(shown) != "text" || !strings.Contains(shown[0].Text, `"empty.pdf" was not sent`) || !strings.HasPrefix(shown[0].Text, "nothing in it") {
		t.Errorf("shown are %+v", shown)
	}
	r.server.Block(person)
	o := r.MustPlan(channels.Message{Chat: chatOf("42"), Media: []channels.File{picture}})[0]
	if se := r.MustFailSend(t.Context(), o); !se.Permanent {
		t.Errorf("got %+v", se)
	}
}

func TestTheTokenDoesNotFollowARedirect(t *testing.T) {
	r := newTestChannel(t, func(o *telegram.Options) {
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.URL.Host == "evil.example" {
				t.Error("the redirection was followed")
			}
			return respond(req, 302, `moved`, "Location", "http://evil.example/"+req.URL.Path), nil
		})
	})
	if se := r.MustFailSend(t.Context(), r.PlanText("hello")); strings.Contains(se.Error(), r.server.Token) {
		t.Errorf("got %v", se)
	}
}
