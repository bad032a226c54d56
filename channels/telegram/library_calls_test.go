package telegram_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// makeEveryCall makes a bot use every call, by polling and by webhook, and returns the routes of
// the calls.
func makeEveryCall(t *testing.T) map[string]string {
	t.Helper()
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada"})
	network := newRoutes(t)
	watched := func(o *telegram.Options) { o.Client = &http.Client{Transport: network} }

	f := newWebhookProxy(t, s)
	hooked := newWebhookChannelOn(t, s, f, newBotState(t), watched)
	stop := hooked.start()
	hooked.waitForRegistration()
	stop()

	r := newTestChannelOn(t, s, newBotState(t), watched)
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop it"}})
	stop = r.start()
	s.UserPosts(telegramtest.UserPost{Chat: person, Text: "look", Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.WaitForMessages(1)
	receipts := r.SendAnswer(channels.Message{Text: "which?", Buttons: []channels.Button{{Label: "Yes", Data: "yes"}}})
	s.UserPresses(person, 0, s.BotMessages(person)[0].ID, "yes")
	r.WaitForMessages(2)
	for _, method := range []string{"answerCallbackQuery", "editMessageReplyMarkup", "setMyCommands"} {
		r.server.WaitForCalls(r.t, method, func(c []telegramtest.Call) bool { return len(c) > 0 && c[0].Done })
	}
	r.SendAnswer(channels.Message{Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(r.Typing(t.Context(), chatOf("42")))
	must(r.Edit(t.Context(), receipts[0].ID, r.PlanText("changed")))
	must(r.Remove(t.Context(), chatOf("42"), receipts[0].ID))
	must(r.SetChatMenu(t.Context(), chatOf("42"), []channels.Command{{Name: "plan"}}))
	must(r.SetChatMenu(t.Context(), chatOf("42"), nil))
	stop()
	examineChannel(t, s, channels.ExamineOptions{}, watched)
	return network.routes()
}

func TestCallsWithoutFilesAreMadeByTheLibrary(t *testing.T) {
	want := map[string]string{
		"getUpdates": byHand, "sendDocument": byHand, download: byHand,

		"answerCallbackQuery": byLibrary, "deleteMessage": byLibrary, "deleteMyCommands": byLibrary, "deleteWebhook": byLibrary,
		"editMessageReplyMarkup": byLibrary, "editMessageText": byLibrary, "getFile": byLibrary, "getMe": byLibrary,
		"getWebhookInfo": byLibrary, "sendChatAction": byLibrary, "sendMessage": byLibrary, "setMyCommands": byLibrary,
		"setWebhook": byLibrary,
	}
	if got := makeEveryCall(t); !maps.Equal(got, want) {
		t.Errorf("the routes are %v, want %v", got, want)
	}
}

func TestACallThatBypassesTheLibraryIsFound(t *testing.T) {
	var found error
	client := &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
		_, _, found = routeOf(req)
		return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
	})}
	resp := musttest.Get(client.Post("http://127.0.0.1/bot1:abc/sendDocument", "application/json", strings.NewReader(`{"chat_id":42}`)))(t)
	resp.Body.Close()
	if found == nil {
		t.Error("a call by hand is not found")
	}
	b := musttest.Get(bot.New("1:abc", bot.WithSkipGetMe(), bot.WithHTTPClient(0, client)))(t)
	if _, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 42, Text: "hello"}); err != nil || found != nil {
		t.Errorf("a call of the library: %v, %v", err, found)
	}
}

// roundTripFunc is a function as a network, for requests of the library and of others.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestAChannelIsMadeWithoutANetworkCall(t *testing.T) {
	_, err := telegram.New(telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(""),
		Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			t.Errorf("it calls %s", req.URL.Path)
			return respond(req, 200, `{"ok":true,"result":{"id":1}}`), nil
		})},
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCallsShareOneConnection(t *testing.T) {
	dials := 0
	r := newTestChannel(t, func(o *telegram.Options) {
		o.Client.Transport.(*routes).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	id := r.SendAnswer(channels.Message{Text: "one"})[0].ID
	if err := r.Edit(t.Context(), id, r.PlanText("two")); err != nil {
		t.Error(err)
	}
	r.SendAnswer(channels.Message{Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}})
	if err := r.Remove(t.Context(), chatOf("42"), id); err != nil {
		t.Error(err)
	}
	wanttest.Equal(t, "connections were made:", dials, 1)
}

func TestASendWhoseAnswerTheLibraryCannotDecodeHasItsReceipt(t *testing.T) {
	const one, album = `{"message_id":7,"date":"today","chat":["new"]}`, `[{"message_id":7,"date":"today"},{"message_id":8,"chat":["new"]}]`
	r := newTestChannel(t)
	picture := r.WriteFile("a.png", telegramtest.PNG(10, 10))
	for method, m := range map[string]channels.Message{
		"sendMessage":    {Text: "hello"},
		"sendPhoto":      {Media: []channels.File{picture}},
		"sendVideo":      {Media: []channels.File{r.WriteFile("a.mp4", []byte("x"))}},
		"sendAnimation":  {Media: []channels.File{r.WriteFile("a.gif", []byte("GIF89a"))}},
		"sendAudio":      {Media: []channels.File{r.WriteFile("a.mp3", []byte("x"))}},
		"sendVoice":      {Media: []channels.File{r.WriteFile("a.ogg", []byte("OggS OpusHead"))}},
		"sendDocument":   {Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}},
		"sendMediaGroup": {Media: []channels.File{picture, picture}},
	} {
		result := one
		if method == "sendMediaGroup" {
			result = album
		}
		r.server.FailNext(method, telegramtest.Fault{Body: `{"ok":true,"result":` + result + `}`})
		if got := r.SendAnswer(m); len(got) != 1 || got[0].ID != "7" {
			t.Errorf("%s: the receipts are %+v", method, got)
		}
		if calls := r.server.Calls(method); len(calls) != 1 {
			t.Errorf("%s was called %d times", method, len(calls))
		}
	}
	if err := json.Unmarshal([]byte(one), new(models.Message)); err == nil {
		t.Error("the library can decode the answer")
	}
}

func TestASuccessfulCallSucceedsEvenIfTheLibraryCannotDecodeIt(t *testing.T) {
	r := newTestChannel(t)
	id := r.SendAnswer(channels.Message{Text: "one"})[0].ID
	strange := telegramtest.Fault{Body: `{"ok":true,"result":{"message_id":"new","chat":[]}}`}
	for _, method := range []string{"editMessageText", "deleteMessage", "sendChatAction", "setMyCommands"} {
		r.server.FailNext(method, strange)
	}
	if err := r.Edit(t.Context(), id, r.PlanText("two")); err != nil {
		t.Error(err)
	}
	if err := r.Typing(t.Context(), chatOf("42")); err != nil {
		t.Error(err)
	}
	if err := r.SetChatMenu(t.Context(), chatOf("42"), []channels.Command{{Name: "plan"}}); err != nil {
		t.Error(err)
	}
	if err := r.Remove(t.Context(), chatOf("42"), id); err != nil {
		t.Error(err)
	}
	r.server.FailNext("sendMessage", strange) // sent, but nobody knows as which message
	if se := r.MustFailSend(t.Context(), r.PlanText("hello")); !se.Unknown || se.Permanent {
		t.Errorf("got %+v", se)
	}
}

// endlessBody is a response body without an end. It counts the bytes that were read.
type endlessBody struct{ read int }

func (e *endlessBody) Read(b []byte) (int, error) {
	clear(b)
	e.read += len(b)
	return len(b), nil
}

func (*endlessBody) Close() error { return nil }

func TestAnAnswerWithoutAnEndIsNotReadForever(t *testing.T) {
	answer := &endlessBody{}
	ch := musttest.Get(telegram.New(telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(""), Unpaced: true,
		Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			resp := respond(req, 200, "")
			resp.Body = answer
			return resp, nil
		})},
	}))(t)
	o := channels.Outgoing{Chat: chatOf("42"), Text: "hello"}
	if se := channelstest.MustFailSend(t.Context(), t, ch, o, "1:abc"); !se.Unknown || answer.read > 33<<20 {
		t.Errorf("%d bytes were read: %+v", answer.read, se)
	}
}

func TestTextThatIsNotUTF8KeepsItsFormatting(t *testing.T) {
	r := newTestChannel(t)
	o := r.PlanText("ab **bold**")
	o.Text = strings.Replace(o.Text, "ab", "\xff\xfe", 1)
	musttest.Get(r.Send(t.Context(), o))(t)
	m := r.server.WaitForCount(t, person, 1)[0]
	if m.Text != "\uFFFD\uFFFD bold" || len(m.Entities) != 1 || entityText(m, m.Entities[0]) != "bold" {
		t.Errorf("shown is %+v", m)
	}
	o.Text = "\xff\xfe BOLD"
	if err := r.Edit(t.Context(), itoa(m.ID), o); err != nil {
		t.Error(err)
	}
}

// allocatedBytes returns how many bytes a function allocates.
func allocatedBytes(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The library would hold a file in memory, more than three times while its buffer grows. If that
// changes, uploads can go through the library, too.
func TestAnUploadIsStreamed(t *testing.T) {
	const size, bound = 48 << 20, 2 << 20
	network := &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
		if n, err := io.Copy(io.Discard, req.Body); strings.HasSuffix(req.URL.Path, "/sendDocument") && (n < size || err != nil) {
			t.Errorf("%d bytes were sent, %v", n, err)
		}
		return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
	})}
	file := (&testChannel{t: t}).sparseFile("large.bin", size)
	ch := musttest.Get(telegram.New(telegram.Options{Token: "1:abc", Folder: channelstest.ChatFolders(""), Unpaced: true, Client: network}))(t)
	parts := channelstest.MustPlan(t, ch, channels.Message{Chat: chatOf("42"), Media: []channels.File{file}})
	ours := allocatedBytes(func() {
		if _, err := ch.Send(t.Context(), parts[0]); err != nil {
			t.Error(err)
		}
	})
	b := musttest.Get(bot.New("1:abc", bot.WithSkipGetMe(), bot.WithHTTPClient(0, network)))(t)
	theirs := allocatedBytes(func() {
		content := musttest.Get(os.Open(file.Path))(t)
		defer content.Close()
		if _, err := b.SendDocument(t.Context(), &bot.SendDocumentParams{
			ChatID: 42, Document: &models.InputFileUpload{Filename: "large.bin", Data: content},
		}); err != nil {
			t.Error(err)
		}
	})
	t.Logf("48 MiB: we allocate %d KiB, the library %d KiB", ours>>10, theirs>>10)
	if ours > bound || theirs < size {
		t.Errorf("of %d bytes we allocate %d, the library %d", size, ours, theirs)
	}
}
