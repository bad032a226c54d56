package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// runInSynctest runs a gateway in a synctest bubble, in which hours pass at once when all
// goroutines wait: without processes and networks, but with a real store.
func runInSynctest(t *testing.T, p protocolFunc, wrap func(store.Store) store.Store, f func(l *countingChannel)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default().Terminal
		cfg.Command, cfg.Timeout = "true", config.MaxTimeout
		runner := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: dir, Protocol: p, Environ: os.Environ(), Log: zap.NewNop()}))(t)
		opened := musttest.Get(sqlite.Open(t.Context(), filepath.Join(dir, ".nanobot"), sqlite.Options{}))(t)
		l := &countingChannel{up: make(chan struct{}), texts: make(chan string, 100)}
		g := gateway.New(gateway.Options{
			Channels: map[string]channels.Channel{"net": l}, Store: wrap(opened), MaxConcurrent: 1, Log: zap.NewNop(), BoardDelay: 24 * time.Hour,
			Settings: gateway.Settings{Agents: map[string]gateway.Agent{store.DefaultAgent: {Runner: runner, Progress: "edit"}}, WhileRunning: "queue", OnCrash: "report", DrainTimeout: time.Second},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx, nil) }()
		<-l.up
		f(l)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
}

func unchangedStore(s store.Store) store.Store { return s }

func TestAQuestionThatNobodyAnswersTimesOut(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		_, err := tn.Ask(ctx, terminal.Question{ID: "q", Text: "Anybody?"})
		return terminal.Outcome{Status: terminal.Done}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: "answer: " + err.Error()})
	}
	runInSynctest(t, ask, unchangedStore, func(l *countingChannel) {
		began := time.Now()
		l.receiveText(t, "hello")
		wanttest.Equal(t, "was shown", <-l.texts, "Anybody?")
		wanttest.Equal(t, "was shown", <-l.texts, "answer: timeout")
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

func TestALongTurnShowsHowLongItTakes(t *testing.T) {
	t.Parallel()
	work := func(_ context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		err := tn.Emit(terminal.Frame{Kind: terminal.Progress, Text: "thinking"})
		time.Sleep(70 * time.Second)
		return terminal.Outcome{Status: terminal.Done}, err
	}
	runInSynctest(t, work, unchangedStore, func(l *countingChannel) {
		l.receiveText(t, "hello")
		for _, want := range []string{"⏳ thinking", "⏳ thinking (15 s)", "⏳ thinking (30 s)", "⏳ thinking (45 s)", "⏳ thinking (1 min)", "removed"} {
			wanttest.Equal(t, "was shown", <-l.texts, want)
		}
	})
}

// pruneCounter is a store that counts the calls of Prune.
type pruneCounter struct {
	store.Store
	n *atomic.Int32
}

func (p pruneCounter) Prune(ctx context.Context, keep store.Retention) error {
	p.n.Add(1)
	return p.Store.Prune(ctx, keep)
}

func TestOldDataIsPrunedSoonAfterTheStartAndEveryHour(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	idle := func(context.Context, terminal.Turn) (terminal.Outcome, error) {
		return terminal.Outcome{Status: terminal.Done}, nil
	}
	runInSynctest(t, idle, func(s store.Store) store.Store { return pruneCounter{s, &n} }, func(l *countingChannel) {
		l.receiveText(t, "hello")
		time.Sleep(5 * time.Minute)
		wanttest.Equal(t, "pruned … times in five minutes:", n.Load(), 1)
		time.Sleep(3 * time.Hour)
	})
	wanttest.Equal(t, "pruned … times in three hours:", n.Load(), 4)
}

func TestAFailingChannelDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	bad := &failingChannel{Channel: &gatewaytest.Channel{Name: "bad"}}
	bad.fails.Store(1 << 30)
	fx.otherChannels = map[string]channels.Channel{"bad": bad}
	fx.start()
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "you said hello")
	unwell := func(h gateway.Health) bool {
		return !h.OK && !h.Channels["bad"].OK && h.Channels["bad"].Error != "" && h.Channels["net"].OK
	}
	again := func() bool { return fx.logs.FilterMessage("channel failed, will retry").Len() >= 2 }
	for deadline := time.Now().Add(testTimeout); !again() || !unwell(fx.gw.Health(t.Context())); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("tried again: %v; health is %+v", again(), fx.gw.Health(t.Context()))
		}
	}
	fx.awaitIdle("1") // or the next message is told that it waits
	fx.net.UserWrites("1", "u", "again")
	fx.expect("1", "you said hello", "you said again")
}

func TestOnlyAllowedPeopleAnswerAQuestion(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo '{"type":"ask","id":"q","text":"Go on?","options":["Yes","No"]}'; read -r answer; echo "got ${answer#*text}"`)
	fx.terminal.Interactive = true
	fx.settings.AllowFrom = map[string][]string{"net": {"7"}}
	fx.start()
	fx.net.UserWrites("1", "7", "hello")
	question := fx.awaitText("1", "Go on?")
	fx.net.UserPresses("1", "8", question.Buttons[0])
	fx.net.UserWrites("1", "8", "1")
	fx.awaitText("1", "nanobot pair")
	fx.net.UserPresses("1", "7", question.Buttons[1])
	if got := fx.awaitText("1", "got").Text; !strings.Contains(got, "No") {
		t.Errorf("a stranger answered: %s", got)
	}
}

func TestStatusSaysWhatRunsAndWaits(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `touch up; `+waitForFileScript("go")+`exit 3`)
	fx.start()
	fx.net.UserWrites("1", "u", "the first")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "the second")
	fx.net.UserWrites("1", "u", "/status")
	if got := fx.awaitText("1", "Waiting: ").Text; !strings.Contains(got, "Running for ") || !strings.Contains(got, "the first") || !strings.Contains(got, "Waiting: 1") {
		t.Errorf("while it runs: %s", got)
	}
	fx.touchFile("go")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "/status")
	if got := fx.awaitText("1", "Last turns:").Text; !strings.Contains(got, "failed (exit code 3)") || !strings.Contains(got, "the first") {
		t.Errorf("afterwards: %s", got)
	}
}

// cursorChannel is a channel that stores its cursor itself.
type cursorChannel struct {
	*gatewaytest.Channel
	keep chan func(context.Context, string) error
}

func (k *cursorChannel) KeepCursor(keep func(context.Context, string) error) { k.keep <- keep }

func TestAChannelMayMoveItsCursorItself(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	k := &cursorChannel{keep: make(chan func(context.Context, string) error, 1)}
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { k.Channel = c; return k }
	fx.start()
	musttest.Do(t, (<-k.keep)(t.Context(), "there"))
	if got, err := fx.store.Cursor(t.Context(), "net"); err != nil || got != "there" {
		t.Errorf("the cursor is %q, %v", got, err)
	}
}
