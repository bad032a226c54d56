package telegram_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/internal/musttest"
)

// roundTrip is a function as a network. It panics if a request should have been made by the
// library.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, _, err := routeOf(req); err != nil {
		panic(err)
	}
	return f(req)
}

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

// newPacedChannel returns a channel whose network responds at once, and a function that returns the
// times of its calls.
func newPacedChannel(t *testing.T) (*telegram.Channel, func() []time.Time) {
	t.Helper()
	var mu sync.Mutex
	var at []time.Time
	ch := musttest.Get(telegram.New(telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()),
		Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
		})},
	}))(t)
	return ch, func() []time.Time { mu.Lock(); defer mu.Unlock(); return at }
}

// maxInWindow returns the largest number of calls within any window of this length.
func maxInWindow(at []time.Time, span time.Duration) int {
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
		ch, at := newPacedChannel(t)
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
		if took := time.Since(began); took < 15*time.Second || took > 20*time.Second || maxInWindow(at(), time.Second) > 4 {
			t.Errorf("20 took %s, %d in one second", took, maxInWindow(at(), time.Second))
		}
	})
}

func TestAGroupIsSentNoMoreThanTwentyMessagesAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := newPacedChannel(t)
		for range 100 {
			musttest.Get(ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("-77"), Text: "x"}))(t)
		}
		if n := maxInWindow(at(), time.Minute); n > 20 || n < 15 {
			t.Errorf("%d in one minute", n)
		}
	})
}

func TestAllChatsTogetherAreSentNoMoreThanTwentyEightMessagesInAnySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := newPacedChannel(t)
		var work errgroup.Group
		for i := range 300 {
			work.Go(func() error {
				_, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf(itoa(1000 + i)), Text: "x"})
				return err
			})
		}
		began := time.Now()
		musttest.Do(t, work.Wait())
		if took := time.Since(began); took > 10*time.Second || len(at()) != 300 || maxInWindow(at(), time.Second) > 28 {
			t.Errorf("300 took %s, %d in one second", took, maxInWindow(at(), time.Second))
		}
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := newPacedChannel(t)
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

// sendAlbum sends an album of ten items.
func sendAlbum(t *testing.T, ch *telegram.Channel, chat channels.Chat) error {
	t.Helper()
	files := make([]channels.File, 10)
	for i := range files {
		files[i] = channels.File{Name: itoa(i) + ".mp4", Kind: channels.Video, Size: 1, Content: "x"}
	}
	plan, err := ch.Plan(channels.Message{Chat: chat, Media: files})
	if err != nil || len(plan) != 1 {
		t.Fatal(err, plan)
	}
	_, err = ch.Send(t.Context(), plan[0])
	return err
}

func TestAnAlbumCountsOnceUntilTelegramCountsItsItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse atomic.Bool
		var at []time.Time
		ch := musttest.Get(telegram.New(telegram.Options{
			Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()),
			Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
				if refuse.Swap(false) {
					return respond(req, 429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":3}}`), nil
				}
				at = append(at, time.Now())
				return respond(req, 200, `{"ok":true,"result":[{"message_id":1}]}`), nil
			})},
		}))(t)
		gapAfterAlbum := func(chat string) time.Duration {
			time.Sleep(10 * time.Minute)
			musttest.Do(t, sendAlbum(t, ch, chatOf(chat)))
			_, _ = ch.Send(t.Context(), channels.Outgoing{Chat: chatOf(chat), Text: "x"})
			return at[len(at)-1].Sub(at[len(at)-2])
		}
		for _, chat := range []string{"42", "-77"} {
			if gap := gapAfterAlbum(chat); gap > time.Second {
				t.Errorf("the next message came after %s", gap)
			}
			musttest.Do(t, sendAlbum(t, ch, chatOf(chat)))
			refuse.Store(true)
			if _, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf(chat), Text: "x"}); err == nil {
				t.Fatal("no 429")
			}
			if gap := gapAfterAlbum(chat); gap < 7*time.Second || gap > 11*time.Second {
				t.Errorf("after a 429 the next message came after %s", gap)
			}
		}
		if gap := gapAfterAlbum("43"); gap > time.Second {
			t.Errorf("in another chat the next message came after %s", gap)
		}
	})
}

func TestInABusyForumASendThatWouldWaitTooLongReturnsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, at := newPacedChannel(t)
		send := func(topic int) error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err := ch.Send(ctx, channels.Outgoing{Chat: chatOf("-1009876543210_" + itoa(topic)), Text: "x"})
			return err
		}
		var mu sync.Mutex
		late := 0
		var work sync.WaitGroup
		began := time.Now()
		for i := range 60 { // answers in sixty topics at once
			work.Go(func() {
				var se *channels.SendError
				err := send(i + 2)
				if errors.As(err, &se) && se.After >= time.Minute && se.After < 3*time.Minute && !se.Permanent && !se.Unknown && time.Since(began) == 0 {
					mu.Lock()
					late++
					mu.Unlock()
					time.Sleep(se.After)
					err = send(i + 2) // who was told to wait has its place when it comes back
				}
				if err != nil {
					t.Errorf("got %v after %s", err, time.Since(began))
				}
			})
		}
		work.Wait()
		if len(at()) != 60 || late < 30 || late > 40 || maxInWindow(at(), time.Minute) != 20 || time.Since(began) > 3*time.Minute {
			t.Errorf("%d were sent in %s, %d were told to wait", len(at()), time.Since(began), late)
		}
	})
}

func TestAShortWaitDoesNotEndALongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		ch, err := telegram.New(telegram.Options{
			Token: "1:abc", Folder: channelstest.ChatFolders(""),
			Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
				n := calls.Add(1) // the first to be answered waits for an hour, the second for a second
				time.Sleep(time.Duration(n) * time.Second)
				wait := []string{"3600", "1"}[min(n, 2)-1]
				return respond(req, 429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":`+wait+`}}`), nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() { _, _ = ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("42"), Text: "x"}) })
		}
		work.Wait()
		_, err = ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("42"), Text: "x"})
		var se *channels.SendError
		if !errors.As(err, &se) || se.After < 59*time.Minute || calls.Load() != 2 {
			t.Errorf("got %v after %d calls", err, calls.Load())
		}
	})
}

// pacedCalls is a channel whose network answers each call at once, and the methods of the calls by
// the time at which they were made.
func pacedCalls(t *testing.T) (*telegram.Channel, func() map[string][]time.Time) {
	t.Helper()
	var mu sync.Mutex
	calls := map[string][]time.Time{}
	ch := musttest.Get(telegram.New(telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()),
		Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			method := path.Base(req.URL.Path)
			calls[method] = append(calls[method], time.Now())
			calls["all"] = append(calls["all"], time.Now())
			return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
		})},
	}))(t)
	return ch, func() map[string][]time.Time { mu.Lock(); defer mu.Unlock(); return maps.Clone(calls) }
}

// showOften edits a transient message as often as the channel allows, until ctx ends. It returns
// the times at which it did.
func showOften(ctx context.Context, ch *telegram.Channel, chat channels.Chat) []time.Time {
	return editOften(ctx, ch, chat, "1")
}

func editOften(ctx context.Context, ch *telegram.Channel, chat channels.Chat, id string) (shown []time.Time) {
	for ctx.Err() == nil {
		err := ch.Edit(ctx, id, channels.Outgoing{Chat: chat, Kind: channels.Progress, Text: time.Now().String(), Transient: true})
		var se *channels.SendError
		pause := time.Second
		if errors.As(err, &se) {
			pause = se.After
		} else {
			shown = append(shown, time.Now())
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return shown
}

func TestTheTopicsOfAGroupShareWhatAnswersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, _ := pacedCalls(t)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var work sync.WaitGroup
		shown := make([][]time.Time, 6)
		for i := range shown {
			work.Go(func() { shown[i] = showOften(ctx, ch, chatOf("-1009876543210_"+itoa(i+2))) })
		}
		work.Wait()
		for i, at := range shown {
			longest := at[0].Sub(began)
			for j := 1; j < len(at); j++ {
				longest = max(longest, at[j].Sub(at[j-1]))
			}
			if longest > 50*time.Second || len(at) < 9 || len(at) > 13 {
				t.Errorf("topic %d was shown %d times, with up to %s in between", i, len(at), longest)
			}
		}
	})
}

func TestAnAnswerInABusyForumDoesNotWaitForTransientMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		topic := func(i int) channels.Chat { return chatOf("-1009876543210_" + itoa(i)) }
		for i := range 6 {
			work.Go(func() { showOften(ctx, ch, topic(i+2)) })
		}
		answer := func(i int) time.Duration {
			began := time.Now()
			if _, err := ch.Send(t.Context(), channels.Outgoing{Chat: topic(i), Text: "an answer"}); err != nil {
				t.Error(err)
			}
			return time.Since(began)
		}
		for range 8 {
			time.Sleep(13*time.Second + 700*time.Millisecond)
			if waited := answer(8); waited > time.Second {
				t.Errorf("a plain question was answered after %s", waited)
			}
		}
		edits := len(calls()["editMessageText"])
		waits := make([]time.Duration, 6)
		var answers sync.WaitGroup
		for i := range waits {
			answers.Go(func() { waits[i] = answer(i + 2) })
		}
		answers.Wait()
		if first, last := slices.Min(waits), slices.Max(waits); first > 0 || last > 5*time.Second {
			t.Errorf("of six answers, the first came after %s and the last after %s", first, last)
		}
		if during := len(calls()["editMessageText"]) - edits; during > 0 {
			t.Errorf("%d edits were made while answers waited", during)
		}
		cancel()
		work.Wait()
		if edits < 8 || maxInWindow(calls()["all"], time.Minute) > 20 {
			t.Errorf("%d edits, at most %d calls in a minute", edits, maxInWindow(calls()["all"], time.Minute))
		}
	})
}

func TestATransientMessageIsRefusedAtOnceAndReservesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		show := channels.Outgoing{Chat: chatOf("42"), Kind: channels.Progress, Text: "x", Transient: true}
		began := time.Now()
		var refused *channels.SendError
		for range 100 {
			_, err := ch.Send(t.Context(), show)
			errors.As(err, &refused)
		}
		if time.Since(began) != 0 || refused == nil || refused.After != 1050*time.Millisecond || refused.Permanent || refused.Unknown || len(calls()["sendMessage"]) != 2 {
			t.Errorf("%d were sent, %v after %s", len(calls()["sendMessage"]), refused, time.Since(began))
		}
		if _, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("42"), Text: "x"}); err != nil || time.Since(began) != 0 {
			t.Errorf("the answer was sent after %s (%v)", time.Since(began), err)
		}
		// An edit that is the answer does not give way.
		if _, err := ch.Replace(t.Context(), "1", channels.Outgoing{Chat: chatOf("42"), Text: "x"}); err != nil || time.Since(began) > 1050*time.Millisecond {
			t.Errorf("the final edit was made after %s (%v)", time.Since(began), err)
		}
	})
}

func TestTheFirstProgressOfAChatDoesNotWaitForEditsInOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, _ := pacedCalls(t)
		ctx, cancel := context.WithCancel(t.Context())
		var edits, sends sync.WaitGroup
		for i := range 100 {
			edits.Go(func() { showOften(ctx, ch, chatOf(itoa(1000+i))) })
		}
		time.Sleep(10 * time.Second)
		began := time.Now()
		for i := range 30 {
			sends.Go(func() {
				first := channels.Outgoing{Chat: chatOf(itoa(2000 + i)), Kind: channels.Progress, Text: "x", Transient: true}
				var refused *channels.SendError
				for _, err := ch.Send(ctx, first); errors.As(err, &refused); _, err = ch.Send(ctx, first) {
					time.Sleep(refused.After)
				}
			})
		}
		sends.Wait()
		if took := time.Since(began); took > 3*time.Second { // 20 of 28 calls a second are for what is no answer
			t.Errorf("the last of 30 was shown after %s", took)
		}
		cancel()
		edits.Wait()
	})
}

func TestFiftyChatsTogetherMakeAtMostTwentyEightCallsInAnySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var work sync.WaitGroup
		for i := range 50 {
			chat := chatOf(itoa(1000 + i))
			work.Go(func() { showOften(ctx, ch, chat) })
			work.Go(func() {
				for ctx.Err() == nil {
					_ = ch.Typing(ctx, chat)
					time.Sleep(4 * time.Second)
				}
			})
			work.Go(func() {
				time.Sleep(time.Duration(i%5) * 4 * time.Second)
				if _, err := ch.Send(t.Context(), channels.Outgoing{Chat: chat, Text: "an answer"}); err != nil {
					t.Error(err)
				}
				if err := ch.Remove(t.Context(), chat, "1"); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		got := calls()
		if n := maxInWindow(got["all"], time.Second); n > 28 {
			t.Errorf("%d calls in one second", n)
		}
		if len(got["sendMessage"]) != 50 || len(got["deleteMessage"]) != 50 || len(got["sendChatAction"]) == 0 || len(got["editMessageText"]) == 0 {
			t.Errorf("%d answers, %d deletions, %d actions, %d edits", len(got["sendMessage"]), len(got["deleteMessage"]), len(got["sendChatAction"]), len(got["editMessageText"]))
		}
	})
}

func TestAMessageThatGivesWayIsSentAfterAnswersAndBeforeTransientMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, _ := pacedCalls(t)
		ctx, cancel := context.WithCancel(t.Context())
		var work, ends sync.WaitGroup
		topic := func(i int) channels.Chat { return chatOf("-1009876543210_" + itoa(i)) }
		for i := range 3 {
			work.Go(func() { showOften(ctx, ch, topic(i+10)) })
		}
		time.Sleep(time.Minute)
		var mu sync.Mutex
		var order []string
		for i := range 6 {
			ends.Go(func() {
				for _, o := range []channels.Outgoing{{Text: "answer"}, {Text: "done", GivesWay: true}} {
					o.Chat = topic(i + 2)
					_, err := ch.Send(t.Context(), o)
					for se := (&channels.SendError{}); errors.As(err, &se); _, err = ch.Send(t.Context(), o) {
						time.Sleep(se.After + 20*time.Millisecond)
					}
					mu.Lock()
					order = append(order, o.Text)
					mu.Unlock()
				}
			})
		}
		began := time.Now()
		ends.Wait()
		took := time.Since(began)
		cancel()
		work.Wait()
		if slices.Index(order, "done") < 6 || took > time.Minute {
			t.Errorf("sent was %q in %s", order, took)
		}
	})
}
