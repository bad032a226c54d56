package telegram_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/go-telegram/bot"

	"nanobot/internal/musttest"
)

// These tests show what the calls of github.com/go-telegram/bot return when something is wrong, and
// so why transport.go and apierror.go exist.

// newOfflineBot returns a bot of the library whose calls are answered by a function.
func newOfflineBot(t *testing.T, answer roundTripFunc) *bot.Bot {
	t.Helper()
	b := musttest.Get(bot.New("1:abc", bot.WithSkipGetMe(), bot.WithHTTPClient(0, &http.Client{Transport: answer})))(t)
	return b
}

// A send that may have been carried out must not be repeated like one that was never made.
func TestTheErrorsOfTheLibraryDoNotTellWhetherARequestWasSent(t *testing.T) {
	var errs []string
	for _, sent := range []bool{false, true} {
		b := newOfflineBot(t, func(req *http.Request) (*http.Response, error) {
			if sent {
				_, _ = io.Copy(io.Discard, req.Body)
			}
			return nil, io.ErrUnexpectedEOF
		})
		_, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 42, Text: "hello"})
		if err == nil {
			t.Fatal("it was sent")
		}
		errs = append(errs, err.Error())
	}
	if errs[0] != errs[1] {
		t.Errorf("the errors are %q", errs)
	}
}

func TestTheLibraryReturnsAnErrorOfASendThatSucceeded(t *testing.T) {
	b := newOfflineBot(t, func(req *http.Request) (*http.Response, error) {
		return respond(req, http.StatusOK, `{"ok":true,"result":{"message_id":7,"chat":["new"]}}`), nil
	})
	if m, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 42, Text: "hello"}); err == nil {
		t.Errorf("it was sent as %+v", m)
	}
}

func TestTheLibraryReturnsNeitherAWebhookNorAnErrorIfTheResultIsNull(t *testing.T) {
	b := newOfflineBot(t, func(req *http.Request) (*http.Response, error) {
		return respond(req, http.StatusOK, `{"ok":true,"result":null}`), nil
	})
	if info, err := b.GetWebhookInfo(t.Context()); info != nil || err != nil {
		t.Errorf("it returns %+v, %v", info, err)
	}
}
