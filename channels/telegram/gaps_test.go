package telegram_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/internal/wanttest"
)

// gapServer delivers updates to a poll at their times, as Telegram does: a long poll ends at the
// first update, and an update is returned until a poll confirms it.
type gapServer struct {
	began   time.Time
	updates []gapUpdate
}

type gapUpdate struct {
	at      time.Duration
	message string // without what all updates have
}

const (
	aText    = `"text":"is this true?"`
	aForward = `"text":"news","forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}`
	aPicture = `"media_group_id":"g","caption":"holiday","photo":[{"file_id":"f","file_unique_id":"f","width":1,"height":1}]`
	aCommand = `"text":"/status"`
)

func (s *gapServer) getUpdates(req *http.Request) (*http.Response, error) {
	var params struct {
		Offset  int
		Timeout int
	}
	if err := json.NewDecoder(req.Body).Decode(&params); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(time.Duration(params.Timeout) * time.Second)
	for {
		var due []string
		next := deadline
		for i, u := range s.updates {
			switch at := s.began.Add(u.at); {
			case i+1 < params.Offset:
			case !at.After(time.Now()):
				due = append(due, fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1,"from":{"id":42},"chat":{"id":42,"type":"private"},%s}}`,
					i+1, i+1, u.message))
			case at.Before(next):
				next = at
			}
		}
		if len(due) > 0 || !time.Now().Before(deadline) {
			return respond(req, 200, `{"ok":true,"result":[`+strings.Join(due, ",")+`]}`), nil
		}
		select {
		case <-time.After(time.Until(next)):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}

// receiveWithGaps returns the texts that a channel receives from a server within ten seconds, and
// when it has.
func receiveWithGaps(t *testing.T, change func(*channelstest.Memory), all ...gapUpdate) (texts []string, after []time.Duration) {
	t.Helper()
	server := &gapServer{began: time.Now(), updates: all}
	ch, memory := newFakeTimeChannel(t, map[string]func(*http.Request) (*http.Response, error){"getUpdates": server.getUpdates},
		func(o *telegram.Options) { o.Timing.Comment = 0 })
	change(memory)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	err := ch.Run(ctx, memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
		mu.Lock()
		defer mu.Unlock()
		texts, after = append(texts, in.Text), append(after, time.Since(server.began))
		return nil
	}))
	if err != nil {
		t.Error(err)
	}
	return texts, after
}

func asItIs(*channelstest.Memory) {}

func TestATextIsOneMessageWithWhatFollowsWithin150Milliseconds(t *testing.T) {
	for what, message := range map[string]string{"news": aForward, "holiday": aPicture} {
		for _, gap := range []time.Duration{0, 50, 100, 140, 160, 300} {
			t.Run(fmt.Sprint(what, " after ", gap, " ms"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					texts, _ := receiveWithGaps(t, asItIs, gapUpdate{0, aText}, gapUpdate{gap * time.Millisecond, message})
					want := []string{"is this true?\n" + what}
					if gap > 150 {
						want = []string{"is this true?", what}
					}
					wanttest.Equal(t, "received was", fmt.Sprintf("%q", texts), fmt.Sprintf("%q", want))
				})
			})
		}
	}
}

func TestATextWaits150MillisecondsAndNothingElseWaits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*channelstest.Memory)
		all    []gapUpdate
		want   string
	}{
		"a text":                        {asItIs, []gapUpdate{{0, aText}}, "[150ms]"},
		"a text in a busy chat":         {(*channelstest.Memory).SetBusy, []gapUpdate{{0, aText}}, "[0s]"},
		"a command":                     {asItIs, []gapUpdate{{0, aCommand}}, "[0s]"},
		"a forward":                     {asItIs, []gapUpdate{{0, aForward}}, "[0s]"},
		"a text and a forward":          {asItIs, []gapUpdate{{0, aText}, {100 * time.Millisecond, aForward}}, "[250ms]"},
		"a text and another text":       {asItIs, []gapUpdate{{0, aText}, {100 * time.Millisecond, aText}}, "[100ms 250ms]"},
		"a text and then a command":     {asItIs, []gapUpdate{{0, aText}, {100 * time.Millisecond, aCommand}}, "[100ms 100ms]"},
		"a forward long after the text": {asItIs, []gapUpdate{{0, aText}, {time.Second, aForward}}, "[150ms 1s]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, after := receiveWithGaps(t, c.change, c.all...)
				wanttest.Equal(t, "received after", fmt.Sprint(after), c.want)
			})
		})
	}
}
