package telegram_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/telegram"
)

// roundTrip is a network that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func respond(req *http.Request, status int, body string, header ...string) *http.Response {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: req}
}

// paced is a channel whose network answers at once, and when it was called.
func paced(t *testing.T) (*telegram.Channel, func() []time.Time) {
	t.Helper()
	var mu sync.Mutex
	var at []time.Time
	ch, err := telegram.New(telegram.Options{
		Token: "1:abc", Folder: func(string) (string, error) { return t.TempDir(), nil },
		Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ch, func() []time.Time { mu.Lock(); defer mu.Unlock(); return at }
}

// most is the largest number of calls within any stretch of time.
func most(at []time.Time, span time.Duration) int {
	largest := 0
	for i := range at {
		n := 0
		for _, later := range at[i:] {
			if later.Sub(at[i]) < span {
				n++
			}
		}
		largest = max(largest, n)
	}
	return largest
}

func TestAChatIsSentAboutOneMessageASecondEditsIncluded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := paced(t)
		began := time.Now()
		for i := range 20 {
			o := channels.Outgoing{Chat: chatOf("42"), Text: "x"}
			var err error
			if i%2 == 0 {
				_, err = ch.Send(t.Context(), o)
			} else {
				err = ch.Edit(t.Context(), "1", o)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 15*time.Second || took > 20*time.Second || most(at(), time.Second) > 4 {
			t.Errorf("20 took %s, %d in one second", took, most(at(), time.Second))
		}
	})
}

func TestAGroupIsSentNoMoreThanTwentyMessagesAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := paced(t)
		for range 100 {
			if _, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("-77"), Text: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if n := most(at(), time.Minute); n > 20 || n < 15 {
			t.Errorf("%d in one minute", n)
		}
	})
}

func TestAllChatsTogetherAreSentThirtyMessagesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := paced(t)
		var work errgroup.Group
		for i := range 300 {
			work.Go(func() error {
				_, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf(itoa(1000 + i)), Text: "x"})
				return err
			})
		}
		began := time.Now()
		if err := work.Wait(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 8*time.Second || took > 11*time.Second || len(at()) != 300 {
			t.Errorf("300 took %s", took)
		}
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := paced(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(90*time.Second, cancel)
		for {
			_, err := ch.Send(ctx, channels.Outgoing{Chat: chatOf("-77"), Text: "x"})
			if err == nil {
				continue
			}
			var se *channels.SendError
			if !errors.As(err, &se) || se.Permanent || se.Unknown || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v after %d calls", err, len(at()))
			}
			return
		}
	})
}

func TestAnAlbumCountsAsItsItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := paced(t)
		files := make([]channels.File, 10)
		for i := range files {
			files[i] = channels.File{Name: itoa(i) + ".mp4", Kind: channels.Video, Size: 1, Content: "x"}
		}
		plan, err := ch.Plan(channels.Message{Chat: chatOf("42"), Media: files})
		if err != nil || len(plan) != 1 {
			t.Fatal(err, plan)
		}
		_, _ = ch.Send(t.Context(), plan[0])
		if _, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("42"), Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if gap := at()[1].Sub(at()[0]); gap < 7*time.Second || gap > 11*time.Second {
			t.Errorf("the next message came after %s", gap)
		}
	})
}
