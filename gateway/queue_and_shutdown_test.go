package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/terminal"
)

func TestAnInjectedMessageDoesNotOvertakeAWaitingOne(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "{\"type\":\"message\",\"text\":\"turn $text\"}"
		case $text in one) touch up1; `+waitForFileScript("go")+`;; two) touch up2; `+waitForFileScript("go2")+`;; esac`)
	fx.settings.WhileRunning = "inject"
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitFile("up1")
	fx.net.UserWrites("1", "u", "two")
	fx.net.UserWrites("1", "u", "three")
	fx.net.UserWrites("x", "u", "sync")
	fx.awaitText("x", "turn sync")
	fx.touchFile("go")
	fx.awaitFile("up2")
	fx.net.UserWrites("1", "u", "four")
	fx.net.UserWrites("x", "u", "again")
	fx.awaitText("x", "turn again")
	fx.touchFile("go2")
	fx.expect("1", "turn one", "turn two", "turn three", "turn four")
}

func TestATurnThatHadNotStartedBeforeACrashRuns(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.start()
	fx.net.UserWrites("0", "u", "before")
	fx.awaitText("0", "you said before")
	fx.stop()
	s := musttest.Get(openStore(t, fx.dir))(t)
	in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "1"}, ID: "x", User: channels.User{ID: "u"}, Text: "early"}
	musttest.Get(s.Receive(t.Context(), store.ReceiveRequest{In: in, Claim: true}))(t)
	musttest.Do(t, s.Close())
	fx.start()
	fx.expect("1", "you said early")
}

func TestAQuestionIsAskedAgainWhenItsTurnIsRunAgain(t *testing.T) {
	t.Parallel()
	asks := func(fx *fixture, times int) {
		fx.t.Helper()
		calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return strings.Count(strings.Join(texts(c), "|"), "Go on?") == times })
		if !ok {
			fx.t.Fatalf("was shown %q", texts(calls))
		}
	}
	begin := func(t *testing.T) *fixture {
		fx := newFixture(t, `read -r line; echo '{"type":"ask","id":"q","text":"Go on?","options":["Yes","No"]}'; read -r answer; echo "got ${answer#*text}"`)
		fx.terminal.Interactive = true
		fx.settings.DrainTimeout = 0
		fx.start()
		fx.net.UserWrites("1", "u", "work")
		asks(fx, 1)
		return fx
	}
	t.Run("after a crash, by the button", func(t *testing.T) {
		fx := begin(t)
		fx.awaitReceipts()
		fx.stop()
		fx.start()
		report := fx.awaitText("1", "I was restarted")
		fx.net.UserPresses("1", "u", report.Buttons[0])
		asks(fx, 2)
		fx.net.UserWrites("1", "u", "1")
		fx.awaitText("1", `got`)
	})
	t.Run("after an answer, by /retry", func(t *testing.T) {
		fx := begin(t)
		fx.net.UserWrites("1", "u", "1")
		fx.awaitText("1", `:"Yes"`)
		fx.awaitIdle("1")
		fx.net.UserWrites("1", "u", "/retry")
		asks(fx, 2)
		fx.net.UserWrites("1", "u", "2")
		fx.awaitText("1", `:"No"`)
	})
}

func TestPassHistoryCountsEarlierTurns(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo "$line" > envelope; echo answer`)
	fx.agent.PassHistory = 1
	fx.start()
	for i, text := range []string{"first", "second", "third"} {
		fx.net.UserWrites("1", "u", text)
		fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(answers(c)) == i+1 })
		fx.awaitIdle("1")
	}
	b := musttest.Get(os.ReadFile(filepath.Join(fx.dir, "envelope")))(t)
	if got := string(b); !strings.Contains(got, `"text":"second"`) || strings.Contains(got, `"text":"first"`) || strings.Count(got, `"text":"third"`) != 1 {
		t.Errorf("got %s", got)
	}
}

func TestTheQueueHasALimitWhileAllAgentsAreBusy(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; touch up; `+waitForFileScript("go")+`echo done`)
	fx.slots, fx.settings.QueueLimit = 1, 2
	fx.start()
	fx.net.UserWrites("a", "u", "x")
	fx.awaitFile("up")
	for range 4 {
		fx.net.UserWrites("b", "u", "x")
	}
	fx.awaitText("b", "2 messages already waiting")
	fx.touchFile("go")
}

func TestABacklogOfHungChatsDelaysNoOther(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.settings.DrainTimeout = 0
	s := musttest.Get(openStore(t, fx.dir))(t)
	for i := range 101 {
		to := channels.Chat{Channel: "net", ID: fmt.Sprintf("c%03d", i)}
		if _, _, err := s.Enqueue(t.Context(), store.Outbound{Parts: []channels.Outgoing{{Chat: to, Kind: channels.Answer, Text: "x"}}}); err != nil {
			t.Fatal(err)
		}
	}
	musttest.Do(t, s.Close())
	hang := make(chan struct{})
	fx.net.Fault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Chat == "c100" {
			return gatewaytest.Fault{}
		}
		return gatewaytest.Fault{HangUntil: hang}
	}
	fx.start()
	fx.expect("c100", "x")
	close(hang)
}

func TestMessagesPostedInParallelAreAllSent(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "")
	fx.slots = 32
	fx.agent.Progress = "off"
	fx.protocol = protocolFunc(func(_ context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		return terminal.Outcome{Status: terminal.Done}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: "hi"})
	})
	fx.terminal.Command = "true"
	l := &countingChannel{up: make(chan struct{})}
	fx.wrapChannel = func(*gatewaytest.Channel) channels.Channel { return l }
	fx.start()
	<-l.up
	const chats = 500
	var work sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		work.Go(func() {
			for n := next.Add(1); n <= chats; n = next.Add(1) {
				for i, text := range []string{"hello", "/whoami"} { // whose answers meet
					in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: fmt.Sprint(n)}, ID: fmt.Sprint(i), User: channels.User{ID: "u"}, Text: text}
					if err := l.receive(t.Context(), in); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	work.Wait()
	for deadline := time.Now().Add(testTimeout); l.sent.Load() < 2*chats; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d were sent", l.sent.Load(), 2*chats)
		}
	}
}

// countingChannel is a channel without a network. It counts the messages to send, and reports their
// texts if somebody waits for them.
type countingChannel struct {
	receive channels.Receive
	up      chan struct{}
	sent    atomic.Int64
	first   atomic.Pointer[channels.Kind] // of what was sent first
	texts   chan string
}

// receiveText receives a message of a user.
func (l *countingChannel) receiveText(t *testing.T, text string) {
	t.Helper()
	in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "1"}, ID: text, User: channels.User{ID: "u"}, Text: text}
	musttest.Do(t, l.receive(context.Background(), in))
}

func (l *countingChannel) reportText(text string) {
	if l.texts != nil {
		l.texts <- text
	}
}

func (l *countingChannel) Run(ctx context.Context, receive channels.Receive) error {
	l.receive = receive
	close(l.up)
	<-ctx.Done()
	return nil
}

func (l *countingChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: m.Text}}, nil
}

func (l *countingChannel) Edit(_ context.Context, _ string, o channels.Outgoing) error {
	l.reportText(o.Text)
	return nil
}

func (l *countingChannel) Remove(context.Context, channels.Chat, string) error {
	l.reportText("removed")
	return nil
}

func (l *countingChannel) Send(_ context.Context, o channels.Outgoing) (channels.Receipt, error) {
	l.sent.Add(1)
	l.first.CompareAndSwap(nil, &o.Kind)
	l.reportText(o.Text)
	return channels.Receipt{ID: "1"}, nil
}

// slowNetwork is a channel whose calls all take a moment.
type slowNetwork struct {
	*gatewaytest.Channel
	sending atomic.Int32
	began   chan struct{}
	once    sync.Once
}

const slowness = 100 * time.Millisecond

func (s *slowNetwork) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	s.sending.Add(1)
	defer s.sending.Add(-1)
	if s.began != nil {
		s.once.Do(func() { close(s.began) })
		time.Sleep(slowness)
	}
	return s.Channel.Send(context.WithoutCancel(ctx), o)
}

func (s *slowNetwork) Remove(ctx context.Context, c channels.Chat, id string) error {
	select {
	case <-time.After(slowness):
		return s.Channel.Remove(ctx, c, id)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestATransientIsRemovedBeforeTheGatewayEnds(t *testing.T) {
	t.Parallel()
	// A gateway that ends waits for three seconds.
	pausetest.Try(t, time.Second, func() error {
		fx := newFixture(t, `echo '{"type":"progress","text":"step"}'; `+waitForFileScript("go")+`echo done`)
		fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return &slowNetwork{Channel: c} }
		fx.start()
		fx.net.UserWrites("1", "u", "work")
		fx.awaitText("1", "step")
		fx.cancel()
		fx.touchFile("go")
		fx.stop()
		for _, c := range fx.net.Sent("1") {
			if c.Kind == "progress" {
				return errors.New("it stayed")
			}
		}
		return nil
	})
}

func TestAGatewayThatEndsEarlyWaitsForItsSends(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	s := musttest.Get(openStore(t, fx.dir))(t)
	for _, id := range []string{"1", "2"} { // two turns that were cut off, and will be reported
		in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: id}, ID: "x", User: channels.User{ID: "u"}, Text: "early"}
		musttest.Get(s.Receive(t.Context(), store.ReceiveRequest{In: in, Claim: true}))(t)
	}
	musttest.Do(t, s.Close())
	slow := &slowNetwork{began: make(chan struct{})}
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { slow.Channel = c; return slow }
	fx.startHooked(func(h *hookedStore) {
		h.finish = func() error { // the first was reported, the second is not looked at
			<-slow.began
			fx.cancel()
			return context.Canceled
		}
	})
	fx.stop()
	if n := slow.sending.Load(); n > 0 {
		t.Errorf("it ended with %d sends under way", n)
	}
}

func TestAWaitForANetworkDoesNotDelayTheShutdown(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.settings.DrainTimeout = time.Hour
	fx.net.Fault = func(gatewaytest.Call) gatewaytest.Fault { return gatewaytest.Fault{Status: 429, RetryAfter: time.Hour} }
	fx.start()
	fx.net.UserWrites("1", "u", "hello")
	for deadline := time.Now().Add(testTimeout); fx.logs.FilterMessage("send failed, will retry").Len() == 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was not refused")
		}
	}
	fx.stop() // it waits less than an hour
}
