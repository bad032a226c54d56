package push_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels/web/history"
	"nanobot/channels/web/push"
	"nanobot/channels/web/push/pushtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a sender with a history and a push service.
type fixture struct {
	*push.Sender
	t       *testing.T
	history *history.History
	service *pushtest.Service
	log     *observer.ObservedLogs

	mu    sync.Mutex
	ended map[string]bool // sign-ins
}

// newFixture returns a sender that runs. change may change the options and the service.
func newFixture(t *testing.T, change func(*push.Options, *pushtest.Service)) *fixture {
	t.Helper()
	f := &fixture{t: t, service: pushtest.NewService(t), ended: map[string]bool{}}
	f.history = musttest.Get(history.Open(t.TempDir(), history.Options{}))(t)
	t.Cleanup(func() { musttest.Do(t, f.history.Close()) })
	core, logs := observer.New(zapcore.DebugLevel)
	f.log = logs
	o := push.Options{
		History: func() (*history.History, error) { return f.history, nil }, Name: "nanobot", Allow: []string{"127.0.0.1"},
		Roots: f.service.Roots, RetryDelay: time.Millisecond, Timeout: waitTimeout, Log: zap.New(core),
		SignedIn: func(_ context.Context, signIn string) (bool, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !f.ended[signIn], nil
		},
	}
	if change != nil {
		change(&o, f.service)
	}
	f.Sender = musttest.Get(push.New(o))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() { defer close(ran); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ran })
	return f
}

// subscribe stores the subscription of a browser of an owner, which must be accepted.
func (f *fixture) subscribe(owner string, b *pushtest.Browser, detailed bool) {
	f.t.Helper()
	s := newSubscription(owner, b)
	s.Detailed = detailed
	musttest.Do(f.t, f.Check(f.t.Context(), s))
	musttest.Do(f.t, f.history.Subscribe(f.t.Context(), s))
}

func newSubscription(owner string, b *pushtest.Browser) history.Subscription {
	return history.Subscription{
		Endpoint: b.Endpoint, Owner: owner, SignIn: owner + "'s", P256DH: b.P256DH, Auth: b.Auth, Origin: "https://bot.example.com",
	}
}

// answer stores an answer of the bot in a chat, which begins with a question of its owner.
func (f *fixture) answer(owner, chat string) {
	f.t.Helper()
	_, _, err := f.history.Append(f.t.Context(), history.NewEvent{
		Chat: chat, Actor: history.Actor{User: owner}, Type: history.Message, ID: chat,
		Body: history.Body{From: "user", Text: "The plan for " + chat},
	})
	musttest.Do(f.t, err)
}

// subscribed returns how many subscriptions an owner has.
func (f *fixture) subscribed(owner string) int {
	f.t.Helper()
	return len(musttest.Get(f.history.Subscriptions(f.t.Context(), owner, false))(f.t))
}

// awaitLog waits for a line in the log.
func (f *fixture) awaitLog(text string) {
	f.t.Helper()
	for until := time.Now().Add(waitTimeout); time.Now().Before(until); time.Sleep(time.Millisecond) {
		for _, e := range f.log.All() {
			if line := e.Message + fmt.Sprint(e.ContextMap()); strings.Contains(line, text) {
				if strings.Contains(line, "/push/") {
					f.t.Errorf("the log has an endpoint: %s", line)
				}
				return
			}
		}
	}
	f.t.Fatalf("the log has no %q: %v", text, f.log.All())
}

const waitTimeout = 5 * time.Minute

type payload struct{ Chat, Title, Text string }

func decode(t *testing.T, p pushtest.Push) (v payload) {
	t.Helper()
	musttest.Do(t, json.Unmarshal([]byte(p.Payload), &v))
	return v
}

func TestANotificationHasTheTitleOfTheChatAndMoreOnlyIfThePersonAsksForIt(t *testing.T) {
	f := newFixture(t, nil)
	f.answer("ann", "a")
	f.answer("ann", "b")
	brief := f.service.NewBrowser()
	f.subscribe("ann", brief, false)
	long := strings.Repeat("a <very> long answer\n", 40)
	f.Notify(push.Notification{Owner: "ann", Chat: "a", Text: long})
	first := f.service.Next()
	wanttest.Equal(t, "payload", decode(t, first), payload{Chat: "a", Title: "The plan for a"})
	wanttest.Equal(t, "urgency", first.Urgency, "normal")
	wanttest.Equal(t, "subject", first.Subject, "https://bot.example.com")
	wanttest.Equal(t, "TTL", first.TTL, 12*60*60)
	f.subscribe("ann", brief, true)
	f.Notify(push.Notification{Owner: "ann", Chat: "a", Text: long, Question: true})
	second := f.service.Next()
	text := decode(t, second).Text
	if !strings.HasPrefix(text, "a <very> long answer a <very>") || len([]rune(text)) != 240 {
		t.Errorf("got the text %q", text)
	}
	wanttest.Equal(t, "urgency of a question", second.Urgency, "high")
	f.Notify(push.Notification{Owner: "ann", Chat: "b"})
	other := f.service.Next()
	if first.Topic == "" || first.Topic != second.Topic || other.Topic == first.Topic {
		t.Errorf("topics: %q and %q of one chat, %q of another", first.Topic, second.Topic, other.Topic)
	}
}

func TestOnlyTheOwnerOfAChatIsNotified(t *testing.T) {
	f := newFixture(t, nil)
	f.answer("ann", "a")
	f.answer("bob", "b")
	ann, bob := f.service.NewBrowser(), f.service.NewBrowser()
	f.subscribe("ann", ann, true)
	f.subscribe("bob", bob, true)
	f.Notify(push.Notification{Owner: "ann", Chat: "b", Text: "not hers"})
	f.Notify(push.Notification{Owner: "ann", Chat: "a", Text: "hers"})
	got := f.service.Next()
	wanttest.Equal(t, "browser", f.service.URL+got.Path, ann.Endpoint)
	wanttest.Equal(t, "payload", decode(t, got), payload{"a", "The plan for a", "hers"})
	f.Notify(push.Notification{Owner: "bob", Chat: "b", Text: "his"})
	wanttest.Equal(t, "text", decode(t, f.service.Next()).Text, "his")
	wanttest.Equal(t, "further requests", len(f.service.Pending()), 0)
}

func TestASubscriptionThatThePushServiceHasEndedIsRemoved(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusGone} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			f := newFixture(t, func(_ *push.Options, s *pushtest.Service) {
				s.Answer = func(pushtest.Push) (int, string) { return status, "" }
			})
			f.answer("ann", "a")
			f.subscribe("ann", f.service.NewBrowser(), false)
			f.Notify(push.Notification{Owner: "ann", Chat: "a"})
			f.awaitLog("the subscription has ended")
			wanttest.Equal(t, "subscriptions", f.subscribed("ann"), 0)
			wanttest.Equal(t, "requests", len(f.service.Pending()), 1)
		})
	}
}

func TestAServiceThatIsBusyIsAskedAgain(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var requests atomic.Int64
			f := newFixture(t, func(_ *push.Options, s *pushtest.Service) {
				s.Answer = func(pushtest.Push) (int, string) {
					if requests.Add(1) == 1 {
						return status, map[int]string{http.StatusTooManyRequests: "1"}[status]
					}
					return http.StatusCreated, ""
				}
			})
			f.answer("ann", "a")
			f.subscribe("ann", f.service.NewBrowser(), false)
			f.Notify(push.Notification{Owner: "ann", Chat: "a"})
			if one, two := f.service.Next(), f.service.Next(); one.Payload != two.Payload {
				t.Errorf("got %q and %q", one.Payload, two.Payload)
			}
			wanttest.Equal(t, "subscriptions", f.subscribed("ann"), 1)
		})
	}
}

func TestANotificationIsGivenUpAfterThreeTriesAndTheNextIsSent(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	f := newFixture(t, func(_ *push.Options, s *pushtest.Service) {
		s.Answer = func(pushtest.Push) (int, string) {
			if fails.Load() {
				return http.StatusBadGateway, ""
			}
			return http.StatusCreated, ""
		}
	})
	f.answer("ann", "a")
	f.subscribe("ann", f.service.NewBrowser(), true)
	f.Notify(push.Notification{Owner: "ann", Chat: "a", Text: "first"})
	f.awaitLog("attempt:3")
	wanttest.Equal(t, "requests", len(f.service.Pending()), 3)
	fails.Store(false)
	f.Notify(push.Notification{Owner: "ann", Chat: "a", Text: "second"})
	wanttest.Equal(t, "text", decode(t, f.service.Next()).Text, "second")
}

func TestARedirectIsNotFollowedAndNotRepeated(t *testing.T) {
	f := newFixture(t, func(_ *push.Options, s *pushtest.Service) {
		s.Answer = func(pushtest.Push) (int, string) { return http.StatusTemporaryRedirect, "" }
	})
	f.answer("ann", "a")
	f.subscribe("ann", f.service.NewBrowser(), false)
	f.Notify(push.Notification{Owner: "ann", Chat: "a"})
	f.awaitLog("has answered 307")
	f.answer("bob", "b")
	f.subscribe("bob", f.service.NewBrowser(), false)
	f.Notify(push.Notification{Owner: "bob", Chat: "b"})
	f.service.Next()
	f.service.Next() // bob's
	wanttest.Equal(t, "further requests", len(f.service.Pending()), 0)
}

func TestAServiceThatHangsDelaysOnlyItsOwnSubscription(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{}, 100)
	var slow string
	f := newFixture(t, func(o *push.Options, s *pushtest.Service) {
		o.Timeout = waitTimeout
		s.Answer = func(p pushtest.Push) (int, string) {
			if p.Path == slow {
				arrived <- struct{}{}
				<-release
			}
			return http.StatusCreated, ""
		}
	})
	f.answer("ann", "a")
	f.answer("bob", "b")
	hangs := f.service.NewBrowser()
	slow = strings.TrimPrefix(hangs.Endpoint, f.service.URL)
	f.subscribe("ann", hangs, true)
	f.subscribe("bob", f.service.NewBrowser(), true)
	f.Notify(push.Notification{Owner: "ann", Chat: "a", Text: "1"})
	<-arrived
	for i := range 30 { // the newest replaces those that wait
		f.Notify(push.Notification{Owner: "ann", Chat: "a", Text: fmt.Sprint(i + 2)})
	}
	f.Notify(push.Notification{Owner: "bob", Chat: "b", Text: "his"})
	wanttest.Equal(t, "text while another service hangs", decode(t, f.service.Next()).Text, "his")
	close(release)
	wanttest.Equal(t, "first text", decode(t, f.service.Next()).Text, "1")
	wanttest.Equal(t, "next text", decode(t, f.service.Next()).Text, "31")
}

func TestARequestThatHangsIsCutOff(t *testing.T) {
	release := make(chan struct{})
	f := newFixture(t, func(o *push.Options, s *pushtest.Service) {
		o.Timeout = 50 * time.Millisecond
		s.Answer = func(pushtest.Push) (int, string) { <-release; return http.StatusCreated, "" }
	})
	t.Cleanup(func() { close(release) })
	f.answer("ann", "a")
	f.subscribe("ann", f.service.NewBrowser(), false)
	f.Notify(push.Notification{Owner: "ann", Chat: "a"})
	f.awaitLog("deadline exceeded")
}

func TestNothingIsPushedAfterTheSignInHasEnded(t *testing.T) {
	f := newFixture(t, nil)
	f.answer("ann", "a")
	f.answer("bob", "b")
	f.subscribe("ann", f.service.NewBrowser(), false)
	f.subscribe("bob", f.service.NewBrowser(), false)
	f.mu.Lock()
	f.ended["ann's"] = true
	f.mu.Unlock()
	f.Notify(push.Notification{Owner: "ann", Chat: "a"})
	f.awaitLog("the subscription has ended")
	wanttest.Equal(t, "subscriptions", f.subscribed("ann"), 0)
	f.Notify(push.Notification{Owner: "bob", Chat: "b"})
	wanttest.Equal(t, "chat", decode(t, f.service.Next()).Chat, "b")
	wanttest.Equal(t, "further requests", len(f.service.Pending()), 0)
}

func TestABrowserThatSignsInAgainDuringTheCheckStaysSubscribed(t *testing.T) {
	f := newFixture(t, nil)
	b := f.service.NewBrowser()
	f.subscribe("ann", b, false)
	ctx, cancel := context.WithCancel(t.Context())
	checked := false
	other := musttest.Get(push.New(push.Options{
		History: func() (*history.History, error) {
			if checked { // the next thing that Run does
				cancel()
			}
			return f.history, nil
		},
		SignedIn: func(context.Context, string) (bool, error) {
			checked = true
			s := newSubscription("ann", b)
			s.SignIn = "ann's second"
			return false, f.history.Subscribe(t.Context(), s)
		},
	}))(t)
	other.Notify(push.Notification{Owner: "bob", Chat: "b"})
	other.Run(ctx)
	wanttest.Equal(t, "subscriptions", f.subscribed("ann"), 1)
}

func TestWhatWaitsAtTheEndIsNotSentLater(t *testing.T) {
	f := newFixture(t, nil)
	f.answer("ann", "a")
	f.answer("ann", "b")
	f.subscribe("ann", f.service.NewBrowser(), true)
	other := musttest.Get(push.New(push.Options{
		History: func() (*history.History, error) { return f.history, nil }, Allow: []string{"127.0.0.1"}, Roots: f.service.Roots,
		SignedIn: func(context.Context, string) (bool, error) { return true, nil },
	}))(t)
	other.Notify(push.Notification{Owner: "ann", Chat: "a", Text: "old"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	other.Run(ended)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() { defer close(ran); other.Run(ctx) }()
	other.Notify(push.Notification{Owner: "ann", Chat: "b", Text: "new"})
	wanttest.Equal(t, "text", decode(t, f.service.Next()).Text, "new")
	cancel()
	<-ran
	wanttest.Equal(t, "further requests", len(f.service.Pending()), 0)
}

func TestTheSubscriptionsOfEndedSignInsAreRemovedAtTheStart(t *testing.T) {
	f := newFixture(t, nil)
	f.subscribe("ann", f.service.NewBrowser(), false)
	f.subscribe("bob", f.service.NewBrowser(), false)
	o := push.Options{
		History:  func() (*history.History, error) { return f.history, nil },
		SignedIn: func(_ context.Context, signIn string) (bool, error) { return signIn == "bob's", nil },
	}
	ctx, cancel := context.WithCancel(t.Context())
	other := musttest.Get(push.New(o))(t)
	ran := make(chan struct{})
	go func() { defer close(ran); other.Run(ctx) }()
	for until := time.Now().Add(waitTimeout); f.subscribed("ann") > 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ran
	wanttest.Equal(t, "ann's", f.subscribed("ann"), 0)
	wanttest.Equal(t, "bob's", f.subscribed("bob"), 1)
}

func TestTheKeyPairStaysTheSame(t *testing.T) {
	f := newFixture(t, nil)
	keys := make([]string, 4)
	var work sync.WaitGroup
	for i := range keys {
		work.Go(func() { keys[i], _ = f.PublicKey(t.Context()) })
	}
	work.Wait()
	if len(slices.Compact(keys)) != 1 || len(keys[0]) != 87 {
		t.Errorf("got %q", keys)
	}
}
