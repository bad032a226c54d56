package gateway_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// shortageProtocol cannot start agents for some chats, for lack of the resource that what names.
type shortageProtocol struct {
	agent protocolFunc // works when nothing is missing; nil: the configured one
	chats map[string]bool
	what  atomic.Int64 // an error number; 0: nothing is missing
	tries atomic.Int64
}

func (l *shortageProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if errno := syscall.Errno(l.what.Load()); errno != 0 && (l.chats == nil || l.chats[t.Envelope.ChatID]) {
		l.tries.Add(1)
		return terminal.Outcome{}, fmt.Errorf("launch: %w", &terminal.ShortageError{Errno: errno, Err: fmt.Errorf("try %d: %w", l.tries.Load(), errno)})
	}
	if l.agent != nil {
		return l.agent(ctx, t)
	}
	return rich.Protocol{}.Turn(ctx, t)
}

// awaitTries waits until the start of agents has failed n times.
func (l *shortageProtocol) awaitTries(fx *fixture, n int64) {
	fx.t.Helper()
	fx.awaitTrue("more tries", func() bool { return l.tries.Load() >= n })
}

func TestATurnThatWaitsForResourcesDelaysNoOtherChatAndKeepsItsOrder(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	l := &shortageProtocol{chats: map[string]bool{"poor": true}}
	l.what.Store(int64(syscall.ENOMEM))
	fx.slots, fx.protocol = 1, l
	fx.start()
	fx.net.UserWrites("poor", "u", "one")
	l.awaitTries(fx, 1) // so that the next message finds a turn and is told that it waits
	fx.net.UserWrites("poor", "u", "two")
	for i := range 5 {
		chat := fmt.Sprint("rich", i)
		fx.net.UserWrites(chat, "u", "hello")
		fx.expect(chat, "you said hello")
	}
	l.what.Store(0)
	fx.expect("poor", "you said one", "you said two")
}

func TestAShortageIsLoggedWhenItChangesAndNotWithEachTry(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	l := &shortageProtocol{}
	fx.protocol = l
	for _, errno := range []syscall.Errno{syscall.EAGAIN, syscall.EMFILE} {
		l.what.Store(int64(errno))
		if fx.gw == nil {
			fx.start()
			for i := range 3 {
				fx.net.UserWrites(fmt.Sprint(i), "u", "hello")
			}
		}
		l.awaitTries(fx, l.tries.Load()+7)
	}
	l.what.Store(0)
	for i := range 3 {
		fx.expect(fmt.Sprint(i), "you said hello")
	}
	var logged []string
	for _, e := range fx.logs.FilterMessage("agents cannot be started, will retry").All() {
		logged = append(logged, fmt.Sprint(e.ContextMap()["error"]))
	}
	lacks := func(i int, what syscall.Errno) bool { return strings.HasSuffix(logged[i], what.Error()) }
	if len(logged) < 2 || len(logged)%2 != 0 || len(logged) > 6 {
		t.Fatalf("logged %q", logged)
	}
	// While what lacks changes, two chats can still report what lacked before.
	for i := 0; i < len(logged); i += 2 {
		if !lacks(i, syscall.EAGAIN) || !lacks(i+1, syscall.EMFILE) {
			t.Errorf("logged %q", logged)
		}
	}
	wanttest.Equal(t, "the end was logged … times:", fx.logs.FilterMessage("agents can be started again").Len(), 1)
}

// slowFailureProtocol is a protocol whose first start in the chat "late" fails only after release.
type slowFailureProtocol struct {
	shortageProtocol
	once    sync.Once
	started chan struct{} // closed when that start is tried
	release chan struct{}
}

func (l *slowFailureProtocol) Turn(ctx context.Context, t terminal.Turn) (out terminal.Outcome, err error) {
	if t.Envelope.ChatID == "late" {
		l.once.Do(func() {
			close(l.started)
			<-l.release
			err = fmt.Errorf("launch: %w", &terminal.ShortageError{Errno: syscall.EAGAIN, Err: syscall.EAGAIN})
		})
		if err != nil {
			return out, err
		}
	}
	return l.shortageProtocol.Turn(ctx, t)
}

func TestALateFailureAfterAShortageStartsNoNewOne(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	l := &slowFailureProtocol{started: make(chan struct{}), release: make(chan struct{})}
	l.what.Store(int64(syscall.EAGAIN))
	fx.protocol = l
	fx.start()
	fx.net.UserWrites("early", "u", "hello")
	l.awaitTries(fx, 1)
	fx.net.UserWrites("late", "u", "hello")
	<-l.started
	l.what.Store(0)
	fx.expect("early", "you said hello")
	fx.awaitTrue("the end of the shortage", func() bool {
		return fx.logs.FilterMessage("agents can be started again").Len() == 1
	})
	close(l.release)
	fx.expect("late", "you said hello")
	wanttest.Equal(t, "the shortage was logged … times:", fx.logs.FilterMessage("agents cannot be started, will retry").Len(), 1)
}

func TestATurnThatWaitsForResourcesIsStopped(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	l := &shortageProtocol{}
	l.what.Store(int64(syscall.EMFILE))
	fx.slots, fx.protocol = 1, l
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	l.awaitTries(fx, 2)
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "Stopped.")
	fx.awaitIdle("1")
	l.what.Store(0)
	for i := range 3 { // slots are neither lost nor given back twice
		fx.net.UserWrites(fmt.Sprint("c", i), "u", "hello")
		fx.expect(fmt.Sprint("c", i), "you said hello")
	}
}

func TestAPersonWhoWaitsLongForResourcesIsToldOnceWithoutANotification(t *testing.T) {
	t.Parallel()
	l := &shortageProtocol{agent: func(_ context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		return terminal.Outcome{Status: terminal.Done}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: "you said " + tn.Envelope.Text})
	}}
	l.what.Store(int64(syscall.EMFILE))
	runInSynctest(t, l.Turn, unchangedStore, func(n *countingChannel) {
		n.receiveText(t, "one")
		if notice, kind := <-n.texts, *n.first.Load(); kind != channels.Progress || !strings.Contains(notice, "short of resources") {
			t.Errorf("the notice is %q, of kind %v", notice, kind)
		}
		for tried := l.tries.Load(); l.tries.Load() == tried; {
			time.Sleep(time.Second)
		}
		l.what.Store(0)
		for answered, removed := false, false; !answered || !removed; {
			got := <-n.texts
			answered, removed = answered || got == "you said one", removed || got == "removed"
		}
		if notices := n.sent.Load() - 2; notices > 0 { // but for the first, which is edited, and the answer
			t.Errorf("%d more notices are shown", notices)
		}
	})
}

func TestATurnThatWaitsForResourcesSurvivesAShutdown(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	l := &shortageProtocol{}
	l.what.Store(int64(syscall.EAGAIN))
	fx.protocol, fx.settings.DrainTimeout = l, 1
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	l.awaitTries(fx, 1)
	fx.stop()
	l.what.Store(0)
	fx.start()
	fx.expect("1", "you said one")
	fx.awaitIdle("1")
	var inbound store.Inbound
	for id := int64(1); inbound.In.Text != "one"; id++ {
		var err error
		if inbound, _, err = fx.store.Inbound(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	wanttest.Equal(t, "it was attempt", inbound.Attempt, 1)
}

// shortageSpool is a store whose spool has no file descriptors for a while.
type shortageSpool struct {
	store.Store
	fails atomic.Int32
}

func (s *shortageSpool) SaveCopy(ctx context.Context, file *os.File, limit int64) (string, error) {
	if s.fails.Add(-1) >= 0 {
		return "", fmt.Errorf("%w: %w", store.ErrUnavailable, &fs.PathError{Op: "open", Path: file.Name(), Err: syscall.EMFILE})
	}
	return s.Store.SaveCopy(ctx, file, limit)
}

func TestAFileOfAnAnswerIsNotLostWithoutFileDescriptors(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `printf picture > a.png; echo '{"type":"message","text":"look","media":["'$PWD'/a.png"]}'`)
	fx.wrapStore = func(s store.Store) store.Store {
		poor := &shortageSpool{Store: s}
		poor.fails.Store(3)
		return poor
	}
	fx.start()
	fx.net.UserWrites("1", "u", "go")
	calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool {
		return slices.ContainsFunc(c, func(c gatewaytest.Call) bool { return c.Files["a.png"] == "picture" })
	})
	if !ok {
		t.Errorf("shown is %+v", calls)
	}
}
