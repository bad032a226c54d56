package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
)

// The first message is pending when the context of Run ends. The second is delivered after that and
// before Run returns, because setWebhook keeps Run waiting.
func TestAMessageThatComesWhileRunEndsDoesNotOvertakeAPendingOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ch, memory := newFakeTimeChannel(t, map[string]func(*http.Request) (*http.Response, error){
			"setWebhook": func(req *http.Request) (*http.Response, error) {
				<-release // whatever becomes of the context
				return respond(req, 200, `{"ok":true,"result":true}`), nil
			},
		}, func(o *telegram.Options) {
			o.Mode, o.WebhookURL, o.WebhookSecret = "webhook", "https://bot.example.com/hook", "secret"
		})
		full := true
		var got []string
		receive := memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
			if full && in.Text == "part 1" {
				return errors.New("the disk is full")
			}
			got = append(got, in.Text)
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, receive) }()
		synctest.Wait()
		deliverUpdate(ch, albumPartUpdate(1, 7, ""))
		cancel()
		synctest.Wait()
		deliverUpdate(ch, albumPartUpdate(2, 7, ""))
		close(release)
		if err := <-done; err != nil || len(memory.StoredParts()) != 2 {
			t.Errorf("after the first run %d messages are pending (%v)", len(memory.StoredParts()), err)
		}
		full = false
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := ch.Run(ctx, receive); err != nil || !slices.Equal(got, []string{"part 1", "part 2"}) {
			t.Errorf("received %q (%v)", got, err)
		}
	})
}

// deliverUpdate brings an update to the webhook, and waits until it is handled.
func deliverUpdate(ch *telegram.Channel, update string) {
	_, h := ch.Mount()
	deliverTo(h, "secret", update)
	synctest.Wait()
}
