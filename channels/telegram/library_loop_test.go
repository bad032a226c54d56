package telegram_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// These tests show what the poll loop of github.com/go-telegram/bot does with updates, and so why
// poll.go and batch.go exist. One that fails after an update of the library says that the library
// has learnt something, and that it may be time to use its loop.

// libraryLoop is a bot of the library that polls.
type libraryLoop struct {
	t      *testing.T
	server *telegramtest.Server
	cancel context.CancelFunc
	done   chan struct{} // closed when Start has returned

	mu     sync.Mutex
	errors []string
}

// startLibrary makes the library poll a server and call handle with the text of each message.
func startLibrary(t *testing.T, s *telegramtest.Server, handle func(ctx context.Context, text string), options ...bot.Option) *libraryLoop {
	t.Helper()
	s.AcceptAnyMultipart()
	l := &libraryLoop{t: t, server: s, done: make(chan struct{})}
	transport := &http.Transport{}
	b := musttest.Get(bot.New(s.Token, append([]bot.Option{
		bot.WithServerURL(s.URL), bot.WithHTTPClient(50*time.Second, &http.Client{Transport: transport}), bot.WithSkipGetMe(),
		bot.WithDefaultHandler(func(ctx context.Context, _ *bot.Bot, u *models.Update) { handle(ctx, u.Message.Text) }),
		bot.WithErrorsHandler(l.recordError),
	}, options...)...))(t)
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	go func() {
		defer close(l.done)
		b.Start(ctx)
	}()
	t.Cleanup(func() {
		l.stop()
		transport.CloseIdleConnections()
	})
	return l
}

func (l *libraryLoop) recordError(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, err.Error())
}

func (l *libraryLoop) errorText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.errors, "\n")
}

// stop cancels the context of the bot and waits for its end.
func (l *libraryLoop) stop() {
	l.cancel()
	<-l.done
}

// waitForConfirmation waits until the library has confirmed all updates.
func (l *libraryLoop) waitForConfirmation() {
	l.t.Helper()
	if !l.server.AwaitPending(0, waitLimit) {
		l.t.Fatalf("%d updates are not confirmed: %s", l.server.PendingUpdates(), l.errorText())
	}
}

// nextText returns the next text, and fails the test if there is none.
func nextText(t *testing.T, texts <-chan string) string {
	t.Helper()
	select {
	case text := <-texts:
		return text
	case <-time.After(waitLimit):
		t.Fatal("no update is handled")
		return ""
	}
}

// This is why poll.go asks for updates itself: it moves the offset when an update is stored, and
// not when it is queued. See TestTheOffsetMovesOnlyWhenAMessageWasStored.
func TestTheLibraryConfirmsUpdatesThatNoHandlerHasStored(t *testing.T) {
	for name, c := range map[string]struct {
		options []bot.Option
		stored  []string // before the process dies
		lost    int
	}{
		"by default": {nil, nil, 3},
		// The strictest settings that there are: one update after the other, and no buffer.
		"one by one": {[]bot.Option{bot.WithNotAsyncHandlers(), bot.WithUpdatesChannelCap(0)}, []string{"one", "two"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.New(t)
			for _, text := range []string{"one", "two", "three"} {
				s.UserSends(person, text)
			}
			var mu sync.Mutex
			var stored []string
			first := startLibrary(t, s, func(ctx context.Context, text string) {
				if !slices.Contains(c.stored, text) {
					<-ctx.Done() // the process dies before the message is stored
					return
				}
				mu.Lock()
				defer mu.Unlock()
				stored = append(stored, text)
			}, c.options...)
			first.waitForConfirmation()
			mu.Lock()
			if lost := 3 - len(stored); lost != c.lost {
				t.Errorf("%d of 3 messages are confirmed and not stored; expected %d", lost, c.lost)
			}
			mu.Unlock()
			first.stop()
			s.UserSends(person, "after the restart")
			handled := make(chan string, 10)
			startLibrary(t, s, func(_ context.Context, text string) { handled <- text })
			wanttest.Equal(t, "Telegram has delivered … again:", nextText(t, handled), "after the restart")
		})
	}
}

// This is why Run returns only when each update of its poll is stored or still with Telegram.
func TestTheLibraryDropsWhatItHasConfirmedWhenItEnds(t *testing.T) {
	s := telegramtest.New(t)
	const said = 90 // for each of them it is chance whether it is handled, or dropped with the rest
	for range said {
		s.UserSends(person, "hello")
	}
	handled := 0
	l := startLibrary(t, s, func(ctx context.Context, _ string) {
		<-ctx.Done()
		handled++
	}, bot.WithNotAsyncHandlers())
	l.waitForConfirmation()
	l.stop()
	if handled == said || s.PendingUpdates() != 0 {
		t.Errorf("%d of %d messages are handled, and %d are still with Telegram", handled, said, s.PendingUpdates())
	}
}

// This is why intake waits for all its tasks before Run returns.
func TestTheLibraryEndsBeforeItsHandlersDo(t *testing.T) {
	s := telegramtest.New(t)
	s.UserSends(person, "hello")
	begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	l := startLibrary(t, s, func(context.Context, string) {
		close(begun)
		<-release
		close(ended)
	})
	<-begun
	l.cancel()
	select {
	case <-l.done:
	case <-time.After(waitLimit):
		t.Error("the library waits for its handler")
	}
	close(release)
	<-ended
}

// This is why batch.go has a goroutine per chat: in order within it, and side by side with others.
// With one worker and handlers that are no goroutines, the library makes every chat wait for one.
func TestTheLibraryHandlesMessagesOfAChatAtTheSameTime(t *testing.T) {
	for name, options := range map[string][]bot.Option{
		"by default":                 nil,
		"with more workers":          {bot.WithWorkers(2)},
		"with two and no goroutines": {bot.WithWorkers(2), bot.WithNotAsyncHandlers()},
	} {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.New(t)
			s.UserSends(person, "first")
			s.UserSends(person, "second")
			overtaken, handled := make(chan struct{}), make(chan string, 2)
			startLibrary(t, s, func(ctx context.Context, text string) {
				if text == "first" {
					select {
					case <-overtaken:
					case <-ctx.Done(): // messages of a chat are handled in order
					}
				}
				handled <- text
				if text == "second" {
					close(overtaken)
				}
			}, options...)
			wanttest.EqualSlices(t, "handled", []string{nextText(t, handled), nextText(t, handled)}, []string{"second", "first"})
		})
	}
}

// This is why types.go declares the few fields that we read. What is new to the library costs no
// message: unknown fields and variants are passed over. What has another type than it expects does,
// in a field that nobody reads. See TestWhatTheLibraryDoesNotKnowCostsNoMessage.
func TestTheLibrarySkipsAMessageForAFieldThatNobodyReads(t *testing.T) {
	s := telegramtest.New(t)
	s.InjectUpdate(`{"message":` + halfAStar + `}`)
	s.UserSends(person, "after it")
	handled := make(chan string, 2)
	l := startLibrary(t, s, func(_ context.Context, text string) { handled <- text })
	wanttest.Equal(t, "handled", nextText(t, handled), "after it")
	l.waitForConfirmation()
	if log := l.errorText(); !strings.Contains(log, "skipped") {
		t.Errorf("the library says %q", log)
	}
}

// halfAStar is a message with a number that is a fraction where the library expects none.
const halfAStar = `{"message_id":7,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ada"},
	"text":"hello","paid_star_count":0.5}`

func TestAMessageIsReceivedWithAFieldThatNobodyReads(t *testing.T) {
	r := newTestChannel(t)
	r.server.InjectUpdate(`{"message":` + halfAStar + `}`)
	r.start()
	if got := r.WaitForMessages(1)[0]; got.Text != "hello" || got.ID != "7" {
		t.Errorf("got %+v", got)
	}
}
