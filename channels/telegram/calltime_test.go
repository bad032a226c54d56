package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram"
	"nanobot/internal/musttest"
)

// newSlowChannel returns a channel whose server answers each call after a time.
func newSlowChannel(t *testing.T, after time.Duration) *telegram.Channel {
	t.Helper()
	return musttest.Get(telegram.New(telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()),
		Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if !httpclient.Sleep(req.Context(), after) {
				return nil, req.Context().Err()
			}
			return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
		})},
	}))(t)
}

func TestACallThatIsNotAnsweredEndsAfterTheTimeThatItsSizeNeeds(t *testing.T) {
	file := channels.File{Name: "x.bin", Size: 1 << 20, Content: strings.Repeat("x", 1<<20)}
	for _, tt := range []struct {
		name  string
		files []channels.File
		form  string
		want  time.Duration
	}{
		{"a text", nil, "", 15 * time.Second},
		{"a file of 1 MiB", []channels.File{file}, `{"as":"document"}`, 31 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ch := newSlowChannel(t, time.Hour)
			began := time.Now()
			_, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("42"), Text: "x", Media: tt.files, Form: []byte(tt.form)})
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != tt.want {
				t.Errorf("%s: it took %s (%v)", tt.name, took, err)
			}
		})
	}
}

func TestTheWaitForTheRateLimitTakesNoneOfTheTimeOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newSlowChannel(t, 14*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		began := time.Now()
		var work errgroup.Group
		for range 30 {
			work.Go(func() error {
				_, err := ch.Send(ctx, channels.Outgoing{Chat: chatOf("42"), Text: "x"})
				return err
			})
		}
		err := work.Wait()
		if took := time.Since(began); err != nil || took < 30*time.Second {
			t.Errorf("it took %s (%v)", took, err)
		}
	})
}
