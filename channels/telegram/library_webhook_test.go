package telegram_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// These tests show what the webhook of github.com/go-telegram/bot answers, and so why webhook.go
// exists.

// newLibraryWebhook returns the webhook of the library, and a function that handles its updates
// until ctx ends.
func newLibraryWebhook(t *testing.T, handle func(*models.Update)) (h http.Handler, start func(ctx context.Context)) {
	t.Helper()
	b := musttest.Get(bot.New(telegramtest.DefaultToken, bot.WithSkipGetMe(), bot.WithWebhookSecretToken("secret"),
		bot.WithErrorsHandler(func(error) {}), bot.WithNotAsyncHandlers(),
		bot.WithDefaultHandler(func(_ context.Context, _ *bot.Bot, u *models.Update) { handle(u) })))(t)
	return b.WebhookHandler(), b.StartWebhook
}

// This is why serveHook answers when an update is stored. Telegram forgets it with the answer.
func TestTheWebhookOfTheLibraryConfirmsUpdatesThatNoHandlerHasStored(t *testing.T) {
	s := telegramtest.New(t)
	h, _ := newLibraryWebhook(t, func(*models.Update) { t.Error("an update is handled although nothing was started") })
	front := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close() // which hangs up first
		front.Close()
	})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	s.AcceptAnyMultipart()
	b := musttest.Get(bot.New(s.Token, bot.WithServerURL(s.URL), bot.WithHTTPClient(time.Minute, client), bot.WithSkipGetMe()))(t)
	musttest.Get(b.SetWebhook(t.Context(), &bot.SetWebhookParams{URL: front.URL, SecretToken: "secret"}))(t)
	s.UserSends(person, "hello")
	if !s.AwaitPending(0, waitLimit) {
		t.Errorf("Telegram still has the message: %+v", s.Deliveries())
	}
}

// This is why serveHook refuses what it does not take: 200 says that the update arrived.
func TestTheWebhookOfTheLibraryAnswers200ToWhatItDrops(t *testing.T) {
	for name, c := range map[string]struct{ secret, update string }{
		"a wrong secret":            {"guessed", albumPartUpdate(1, 7, "")},
		"a field that nobody reads": {"secret", `{"update_id":1,"message":` + halfAStar + `}`},
		"half of an update":         {"secret", albumPartUpdate(1, 7, "")[:40]},
	} {
		t.Run(name, func(t *testing.T) {
			handled := make(chan int64, 2)
			h, start := newLibraryWebhook(t, func(u *models.Update) { handled <- u.ID })
			wanttest.Equal(t, "answered", deliverTo(h, c.secret, c.update), http.StatusOK)
			deliverTo(h, "secret", albumPartUpdate(2, 7, ""))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				start(ctx)
			}()
			wanttest.Equal(t, "update … is handled:", <-handled, 2)
			cancel()
			<-done
		})
	}
}

// deliverTo brings an update to a webhook, and returns the status of the answer.
func deliverTo(h http.Handler, secret, update string) int {
	req := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(update))
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code
}
