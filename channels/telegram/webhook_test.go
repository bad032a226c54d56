package telegram_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestTheChannelKeepsItsContractByWebhook(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		watch := func(o *telegram.Options) { o.Timing.Watch = 20 * time.Millisecond }
		r := newWebhookChannel(t, watch)
		return channelstest.Subject{
			Channel:    r.Channel,
			Chat:       chatOf("42"),
			Sent:       func() []channelstest.SentCall { return sentCalls(t, r.server) },
			UserSends:  func(text string) { r.server.UserSends(person, text) },
			Redelivers: true,
			Normalize:  channelstest.StripMarkup,
			CloseIdleConnections: func() { // Telegram goes on delivering, and its connections are not the channel's
				r.server.Close()
				r.proxy.Close()
			},
			Optional: r.optionalFields("getWebhookInfo", func() channels.Channel { return r.newChannelBeside(watch) }),
		}
	})
}

// newChannelBeside returns another channel at the same address. The channel that runs gets the
// deliveries.
func (r *webhookChannel) newChannelBeside(change ...func(*telegram.Options)) channels.Channel {
	r.t.Helper()
	first := r.proxy.current
	next := r.restart(change...)
	second := r.proxy.current
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	r.proxy.current = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := httptest.NewRecorder()
		if second.ServeHTTP(answer, req); answer.Code == http.StatusServiceUnavailable { // nothing was read
			first.ServeHTTP(w, req)
			return
		}
		w.WriteHeader(answer.Code)
	})
	return next.Channel
}

func TestAWebhookIsRegisteredAndNothingIsPolled(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	stop := r.start()
	call := r.waitForRegistration()
	r.server.UserSends(person, "hello")
	m := r.WaitForMessages(1)[0]
	if m.Text != "hello" || m.Cursor != "" {
		t.Errorf("received %+v", m)
	}
	var allowed []string
	if err := call.DecodeParam("allowed_updates", &allowed); err != nil || fmt.Sprint(allowed) != "[message edited_message callback_query]" {
		t.Errorf("allowed are %v (%v)", allowed, err)
	}
	secret := call.Params["secret_token"]
	if call.Params["url"] != r.proxy.URL+"/hook" || call.IntParam("max_connections") < 2 || len(secret) < 32 ||
		strings.Contains(secret, strings.Split(r.server.Token, ":")[1]) {
		t.Errorf("set with %v", call.Params)
	}
	stop()
	wanttest.Equal(t, "calls poll or remove the webhook:", len(r.server.Calls("getUpdates"))+len(r.server.Calls("deleteWebhook")), 0)
	if log := r.LogText(); strings.Contains(log, secret) {
		t.Error("the secret is in the log")
	}
	if status, _ := r.postUpdate(secret, "{}"); status != http.StatusServiceUnavailable {
		t.Errorf("when it has ended it answers %d", status)
	}
}

func TestAWrongSecretIsRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, func(o *telegram.Options) { o.WebhookSecret = "s3cret_-" })
	r.start()
	if got := r.waitForRegistration().Params["secret_token"]; got != "s3cret_-" {
		t.Fatalf("the secret is %q", got)
	}
	update := `{"update_id":1,"message":{"message_id":1,"text":"x","chat":{"id":42,"type":"private"},"from":{"id":42}}}`
	for _, secret := range []string{"", "s3cret", "S3cret_-", "s3cret_-x"} {
		if status, _ := r.postUpdate(secret, update); status != http.StatusUnauthorized {
			t.Errorf("with the secret %q it answers %d", secret, status)
		}
	}
	if got := r.Recorder.Messages(); len(got) != 0 {
		t.Errorf("received %+v", got)
	}
	conn := musttest.Get(net.Dial("tcp", strings.TrimPrefix(r.proxy.URL, "http://")))(t)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(waitLimit))
	_, _ = io.WriteString(conn, "POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n") // and never the body
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !resp.Close {
		t.Errorf("without a body: %+v, %v", resp, err)
	}
	if status, _ := r.postUpdate("s3cret_-", update); status != http.StatusOK || len(r.Recorder.Messages()) != 1 {
		t.Errorf("with the right secret it answers %d", status)
	}
}

func TestADeliveryIsAnsweredWhenItsMessageWasReceived(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	began, let := make(chan struct{}), make(chan struct{})
	r.Recorder.Reject = func(channels.Incoming) error {
		close(began)
		<-let
		return nil
	}
	r.server.UserSends(person, "hello")
	r.start()
	<-began
	if d := r.server.Deliveries(); len(d) != 1 || d[0].Done || r.server.PendingUpdates() != 1 {
		t.Errorf("before it was received: %+v", d)
	}
	close(let)
	if got := r.receivedAll(); len(got) != 1 || len(r.server.Deliveries()) != 1 {
		t.Errorf("received %+v", got)
	}
}

func TestRefusedUpdatesAreDeliveredAgainInOrder(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	refused := 0
	r.server.UserSends(person, "one")
	r.server.UserSends(person, "two")
	r.startRefusing(func(context.Context, channels.Incoming) error {
		if refused++; refused <= 6 { // whole and as a part, three times
			return errors.New("the disk is full")
		}
		return nil
	})
	got := r.WaitForMessages(2)
	r.receivedAll()
	if got[0].Text != "one" || got[1].Text != "two" {
		t.Errorf("received %+v", got)
	}
	var statuses []int
	for _, d := range r.server.Deliveries() {
		statuses = append(statuses, d.Status)
	}
	if fmt.Sprint(statuses) != "[503 503 503 200 200]" {
		t.Errorf("the answers are %v", statuses)
	}
	wanttest.Equal(t, "the same error is logged … times:", strings.Count(r.LogText(), "the disk is full"), 1)
}

func TestUndecodableUpdatesAreSkippedInWebhookMode(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, func(o *telegram.Options) { o.WebhookSecret = "s" })
	broken := r.server.InjectUndecodableUpdate()
	r.server.UserSends(person, "after")
	r.start()
	r.WaitForMessages(1)
	r.receivedAll()
	for body, want := range map[string]int{
		"no JSON": 200, "{}": 200, `{"update_id":5}`: 200, strings.Repeat(" ", 5<<20): http.StatusRequestEntityTooLarge,
	} {
		if status, _ := r.postUpdate("s", body); status != want {
			t.Errorf("%.20q is answered %d", body, status)
		}
	}
	log := r.LogText()
	for _, want := range []string{"undecodable update skipped", strconv.Itoa(broken), "update without an id skipped", "too big"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q: %s", want, log)
		}
	}
	if got := r.Recorder.Messages(); len(got) != 1 {
		t.Errorf("received %+v", got)
	}
}

func TestPressesComeByWebhook(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	r.start()
	m := r.server.UserSends(person, "hello")
	query := r.server.UserPresses(person, 0, m.ID, "stop")
	for _, in := range r.WaitForMessages(2) {
		if in.Press == "" && in.Text != "hello" || in.Press != "" && in.Press != "stop" {
			t.Errorf("received %+v", in)
		}
	}
	r.server.WaitForCalls(r.t, "answerCallbackQuery", func(c []telegramtest.Call) bool { return len(c) == 1 && c[0].Params["callback_query_id"] == query })
	r.server.WaitForCalls(r.t, "editMessageReplyMarkup", func(c []telegramtest.Call) bool { return len(c) == 1 })
	r.receivedAll()
}

func TestWebhookOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	good := telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(""), Mode: "webhook",
		WebhookURL: "https://example.com/hook", WebhookSecret: "a-secret",
	}
	for name, change := range map[string]func(*telegram.Options){
		"webhookUrl: must be set":     func(o *telegram.Options) { o.WebhookURL = "" },
		"webhookUrl: must be an addr": func(o *telegram.Options) { o.WebhookURL = "example.com/hook" },
		"webhookUrl: must be an":      func(o *telegram.Options) { o.WebhookURL = "https://user:pass@example.com/hook" },
		"webhookUrl: its":             func(o *telegram.Options) { o.WebhookURL = "https://example.com/{x}" },
		"webhookUrl: its path":        func(o *telegram.Options) { o.WebhookURL = "https://example.com/a/../b" },
		"webhookUrl: its path may":    func(o *telegram.Options) { o.WebhookURL = "https://example.com/?a=b" },
		"webhookSecret":               func(o *telegram.Options) { o.WebhookSecret = "a secret" },
		"no folder":                   func(o *telegram.Options) { o.Folder = nil },
	} {
		o := good
		change(&o)
		if _, err := telegram.New(o); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "pass") ||
			strings.Contains(err.Error(), "a secret") {
			t.Errorf("%s: New returned %v", name, err)
		}
	}
	for path, want := range map[string]string{
		"": "POST /{$}", "/": "POST /{$}", "/a/b.c": "POST /a/b.c", "/a/": "POST /a/{$}",
	} {
		o := good
		o.WebhookURL = "https://example.com" + path
		ch := musttest.Get(telegram.New(o))(t)
		pattern, h := ch.Mount()
		http.NewServeMux().Handle(pattern, h)
		wanttest.Equal(t, path+": is mounted at", pattern, want)
	}
	good.Mode = "poll"
	if ch, err := telegram.New(good); err != nil {
		t.Error(err)
	} else if pattern, _ := ch.Mount(); pattern != "" {
		t.Errorf("who polls is mounted at %q", pattern)
	}
}

func TestDeliveriesThatWaitAreAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{}, 10)
	done := make(chan error, 1)
	go func() {
		done <- r.Run(ctx, func(ctx context.Context, _ channels.Incoming) error {
			began <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	r.server.UserSends(person, "is being received")
	<-began
	r.server.UserSends(other, "waits for that")
	<-r.proxy.read
	<-r.proxy.read // both
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run returned %v", err)
	}
	for _, d := range r.waitForDeliveries(2)[:2] {
		wanttest.Equal(t, "answered", d.Status, http.StatusServiceUnavailable)
	}
}

func TestPendingMessagesAreBoundedAndTelegramKeepsTheRest(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, func(o *telegram.Options) { o.WebhookSecret = "s" })
	never := make(chan struct{})
	defer close(never)
	r.server.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method == "getFile" {
			return telegramtest.Fault{HangUntil: never}
		}
		return telegramtest.Fault{}
	})
	r.start()
	r.waitForRegistration()
	send := func(chat int, what string) int {
		status, _ := r.postUpdate("s", fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"chat":{"id":%[1]d,"type":"private"},"from":{"id":%[1]d},%s}}`, chat, what))
		return status
	}
	taken := 0
	for taken < 1000 && send(1000+taken, `"photo":[{"file_id":"f"}]`) == http.StatusOK {
		taken++
	}
	if taken < 100 || taken == 1000 {
		t.Errorf("%d are taken", taken)
	}
	if status := send(5000, `"text":"a word"`); status != http.StatusOK || len(r.Recorder.Messages()) != 1 {
		t.Errorf("what need not wait is answered %d", status)
	}
}
