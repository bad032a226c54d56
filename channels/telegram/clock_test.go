package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/internal/musttest"
)

// newFakeTimeChannel returns a channel whose network is made of functions, by the last part of the
// path, for tests in a synctest bubble.
func newFakeTimeChannel(t *testing.T, network map[string]func(*http.Request) (*http.Response, error), change ...func(*telegram.Options)) (*telegram.Channel, *channelstest.Memory) {
	t.Helper()
	dir := t.TempDir()
	o := telegram.Options{
		Token: "1:abc", Unpaced: true, Folder: channelstest.ChatFolders(dir), Timing: telegram.Timing{Comment: -1},
		Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			if answer := network[path.Base(req.URL.Path)]; answer != nil {
				return answer(req)
			}
			return respond(req, 200, `{"ok":true,"result":{"id":1,"is_bot":true,"username":"b"}}`), nil
		})},
	}
	for _, f := range change {
		f(&o)
	}
	ch := musttest.Get(telegram.New(o))(t)
	memory := channelstest.NewMemory()
	ch.SetMemory(memory)
	return ch, memory
}

// respondAfter responds to a request after a delay.
func respondAfter(req *http.Request, d time.Duration, body string) (*http.Response, error) {
	select {
	case <-time.After(d):
		return respond(req, 200, body), nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// pollResponses responds to polls with one batch after the other, every 100 ms, and then with no
// updates.
func pollResponses(batches ...string) map[string]func(*http.Request) (*http.Response, error) {
	return map[string]func(*http.Request) (*http.Response, error){
		"getUpdates": func(req *http.Request) (*http.Response, error) {
			if len(batches) == 0 {
				return respondAfter(req, 50*time.Second, `{"ok":true,"result":[]}`)
			}
			now := batches[0]
			batches = batches[1:]
			return respondAfter(req, time.Second/10, `{"ok":true,"result":[`+now+`]}`)
		},
	}
}

// albumPartUpdate returns an update with a part of an album, or with a single photo if album is "".
func albumPartUpdate(id, chat int, album string) string {
	return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%[1]d,"from":{"id":%d},"chat":{"id":%[2]d,"type":"private"},
		"media_group_id":%q,"text":"part %[1]d"}}`, id, chat, album)
}

func TestAnAlbumThatBecomesCompleteWhileAnotherIsReceivedIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, memory := newFakeTimeChannel(t, pollResponses(albumPartUpdate(1, 7, "a"), albumPartUpdate(2, 8, "b")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var got atomic.Int32
		err := ch.Run(ctx, memory.WrapReceive(func(context.Context, channels.Incoming) error {
			got.Add(1)
			time.Sleep(5 * time.Second)
			return nil
		}))
		if got.Load() != 2 || err != nil {
			t.Errorf("%d of 2 albums were received (%v)", got.Load(), err)
		}
	})
}

// A poll that is stuck cannot bring the other parts of an album.
func TestAnAlbumIsNotCutByAnotherChatThatIsStuck(t *testing.T) {
	first, other, second := albumPartUpdate(1, 7, "a"), albumPartUpdate(2, 8, ""), albumPartUpdate(3, 7, "a")
	for name, c := range map[string]struct {
		polls []string
		stuck time.Duration
	}{
		"all in one poll": {[]string{first + "," + other + "," + second}, 5 * time.Second},
		"in two polls":    {[]string{first + "," + other, second}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch, memory := newFakeTimeChannel(t, pollResponses(c.polls...))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				began := time.Now()
				var mu sync.Mutex
				var got []string
				err := ch.Run(ctx, refusingReceive(func(_ context.Context, in channels.Incoming) error {
					if in.Chat == chatOf("8") && time.Since(began) < c.stuck {
						return errors.New("the disk is full")
					}
					return nil
				}, memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, in.Text)
					return nil
				})))
				if want := []string{"part 2", "part 1\npart 3"}; !slices.Equal(got, want) || err != nil {
					t.Errorf("received %q (%v)", got, err)
				}
			})
		})
	}
}

// Four run at once: the last of twelve begins after minutes.
func TestAFileThatWaitsForItsTurnIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []string
		for i := 1; i <= 12; i++ {
			all = append(all, fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%[1]d,"from":{"id":%[1]d},"chat":{"id":%[1]d,"type":"private"},
				"document":{"file_id":"f%[1]d","file_name":"a.bin"}}}`, i))
		}
		network := pollResponses(strings.Join(all, ","))
		network["getFile"] = func(req *http.Request) (*http.Response, error) {
			return respond(req, 200, `{"ok":true,"result":{"file_id":"x","file_path":"documents/x.bin","file_size":4}}`), nil
		}
		network["x.bin"] = func(req *http.Request) (*http.Response, error) { return respondAfter(req, 70*time.Second, "abcd") }
		ch, memory := newFakeTimeChannel(t, network)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var files atomic.Int32
		err := ch.Run(ctx, memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
			files.Add(int32(len(in.Media)))
			return nil
		}))
		if files.Load() != 12 || err != nil {
			t.Errorf("%d of 12 files were received (%v)", files.Load(), err)
		}
	})
}

func TestHealthReportsAnOutageAndAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no route to host")
		var poll atomic.Value // of what answers polls just now
		down := func(*http.Request) (*http.Response, error) { return nil, broken }
		idle := func(req *http.Request) (*http.Response, error) {
			return respondAfter(req, time.Second, `{"ok":true,"result":[]}`)
		}
		taken := func(req *http.Request) (*http.Response, error) {
			return respond(req, 409, `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`), nil
		}
		poll.Store(idle)
		ch, memory := newFakeTimeChannel(t, map[string]func(*http.Request) (*http.Response, error){
			"getUpdates": func(req *http.Request) (*http.Response, error) {
				return poll.Load().(func(*http.Request) (*http.Response, error))(req)
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- ch.Run(ctx, memory.WrapReceive(func(context.Context, channels.Incoming) error { return nil }))
		}()
		for _, step := range []struct {
			poll  func(req *http.Request) (*http.Response, error)
			after time.Duration
			want  string
		}{
			{idle, 90 * time.Second, ""},
			{down, 40 * time.Second, ""},
			{down, 40 * time.Second, "no route to host"},
			{idle, 2 * time.Minute, ""}, // the longest pause between two tries is a minute and a half
			{taken, 3 * time.Second, "another program polls"},
			{idle, 40 * time.Second, ""},
		} {
			poll.Store(step.poll)
			time.Sleep(step.after)
			synctest.Wait()
			if err := ch.Health(); (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
				t.Errorf("it says %v and should say %q", err, step.want)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
