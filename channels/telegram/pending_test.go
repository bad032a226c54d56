package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// The album must not wait for the next poll, which waits for a place behind the album.
func TestAnAlbumBeforeMoreMessagesThanMayBePendingDoesNotStopThePoll(t *testing.T) {
	t.Parallel()
	for name, restored := range map[string]bool{"of an earlier run": true, "of this run": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const texts = 5100
				updates := []string{albumPartUpdate(1, 7, "a")}
				if restored {
					updates = nil
				}
				for i := range texts {
					updates = append(updates, albumPartUpdate(2+i, 7, ""))
				}
				ch, memory := newFakeTimeChannel(t, backlogResponses(updates))
				if restored {
					kept := channels.Incoming{Chat: chatOf("7"), ID: "1", Part: &channels.Part{Group: "1"}, Raw: []byte(albumPartUpdate(1, 7, "a"))}
					musttest.Do(t, memory.WrapReceive(nil)(t.Context(), kept))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got := 0
				err := ch.Run(ctx, func(_ context.Context, in channels.Incoming) error {
					if in.Part != nil && !in.Part.Last {
						return nil
					}
					if got++; in.ID != strconv.Itoa(got) {
						t.Errorf("%s is received as number %d", in.ID, got)
					}
					return nil
				})
				if got != 1+texts || err != nil {
					t.Errorf("received are %d of %d (%v)", got, 1+texts, err)
				}
			})
		})
	}
}

func TestAPartOfAnAlbumJoinsItAcrossAMessageInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, memory := newFakeTimeChannel(t, backlogResponses([]string{
			albumPartUpdate(1, 7, "a"), albumPartUpdate(2, 7, ""), albumPartUpdate(3, 7, "a"),
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var got []string
		musttest.Do(t, ch.Run(ctx, memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
			got = append(got, in.Text)
			return nil
		})))
		wanttest.EqualSlices(t, "received", got, []string{"part 1\npart 3", "part 2"})
	})
}

// backlogResponses answers each poll at once with the next hundred updates, until there are none.
func backlogResponses(updates []string) map[string]func(*http.Request) (*http.Response, error) {
	return map[string]func(*http.Request) (*http.Response, error){
		"getUpdates": func(req *http.Request) (*http.Response, error) {
			if len(updates) == 0 {
				return respondAfter(req, 50*time.Second, `{"ok":true,"result":[]}`)
			}
			now := updates[:min(100, len(updates))]
			updates = updates[len(now):]
			return respond(req, 200, `{"ok":true,"result":[`+strings.Join(now, ",")+`]}`), nil
		},
	}
}

func TestAReplyInASupergroupIsTheSameAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, memory := newFakeTimeChannel(t, backlogResponses(nil))
		const raw = `{"update_id":5,"message":{"message_id":9,"from":{"id":42},"chat":{"id":-1001234567890,"type":"supergroup"},"text":"@b why?",
			"entities":[{"type":"mention","offset":0,"length":2}],
			"reply_to_message":{"message_id":8,"from":{"id":43},"chat":{"id":-1001234567890,"type":"supergroup"},"text":"so it is"}}}`
		kept := channels.Incoming{Chat: chatOf("-77"), ID: "-1001234567890/9", Part: &channels.Part{Group: "g"}, Raw: []byte(raw)}
		musttest.Do(t, memory.WrapReceive(nil)(t.Context(), kept))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var got []channels.Incoming
		err := ch.Run(ctx, memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
			got = append(got, in)
			return nil
		}))
		if len(got) != 1 || err != nil || got[0].Chat != chatOf("-77") || got[0].ReplyTo == nil || got[0].ReplyTo.ID != "-1001234567890/8" {
			t.Errorf("received %+v (%v)", got, err)
		}
	})
}

// Telegram may take minutes to deliver again what was refused.
func TestAnAlbumWaitsForAPartThatIsRefusedUntilItComesAgain(t *testing.T) {
	for name, again := range map[string]time.Duration{"it comes": 100 * time.Second, "it does not": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch, memory := newFakeTimeChannel(t, nil, func(o *telegram.Options) {
					o.Mode, o.WebhookURL, o.WebhookSecret = "webhook", "https://bot.example.com/hook", "s"
				})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				var refuse atomic.Bool
				var got []string
				go func() {
					done <- ch.Run(ctx, refusingReceive(func(context.Context, channels.Incoming) error {
						if refuse.Load() {
							return errors.New("the disk is full")
						}
						return nil
					}, memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
						got = append(got, in.Text)
						return nil
					})))
				}()
				synctest.Wait()
				deliver := func(update string, want int) {
					t.Helper()
					_, hook := ch.Mount()
					req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/hook", strings.NewReader(update))
					req.Header.Set("X-Telegram-Bot-Api-Secret-Token", "s")
					w := httptest.NewRecorder()
					hook.ServeHTTP(w, req)
					wanttest.Equal(t, "answered", w.Code, want)
				}
				deliver(albumPartUpdate(1, 7, "a"), http.StatusOK)
				refuse.Store(true)
				deliver(albumPartUpdate(2, 7, "a"), http.StatusServiceUnavailable)
				refuse.Store(false)
				time.Sleep(again)
				want := []string{"part 1"}
				if again > 0 {
					deliver(albumPartUpdate(2, 7, "a"), http.StatusOK)
					want = []string{"part 1\npart 2"}
				}
				time.Sleep(131 * time.Second)
				synctest.Wait()
				wanttest.EqualSlices(t, "received", got, want)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
