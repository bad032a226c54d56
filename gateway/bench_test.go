package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// trivial is the smallest rich agent there is. Where the text asks for it, it takes a minute.
const trivial = `read -r line; case $line in *slow*) exec sleep 60;; esac; echo '{"type":"message","text":"hi"}'`

// loopChannel is a channel without a network: a text is received at once, and answers are passed to
// the caller that waits for them.
type loopChannel struct {
	receive channels.Receive
	up      chan struct{}
	begun   chan struct{} // gets something when a turn begins, if somebody looks
	stuck   chan struct{} // sends to the chat stuck wait for this
	waiting sync.Map      // channels of people who wait for an answer, by chat
	other   chan string   // gets a message to such a chat that is no answer of the agent
	next    atomic.Int64
	gateway *gateway.Gateway
}

func newLoopChannel() *loopChannel {
	return &loopChannel{up: make(chan struct{}), begun: make(chan struct{}), stuck: make(chan struct{}), other: make(chan string, 1)}
}

func (l *loopChannel) Run(ctx context.Context, receive channels.Receive) error {
	l.receive = receive
	close(l.up)
	<-ctx.Done()
	return nil
}

func (l *loopChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: m.Text}}, nil
}

func (l *loopChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if strings.HasPrefix(o.Chat.ID, "stuck") {
		select {
		case <-l.stuck:
		case <-ctx.Done():
		}
		return channels.Receipt{}, ctx.Err()
	}
	answered, ok := l.waiting.Load(o.Chat.ID)
	switch {
	case ok && o.Text == "hi":
		select {
		case answered.(chan struct{}) <- struct{}{}:
		case <-ctx.Done():
			return channels.Receipt{}, ctx.Err()
		}
	case ok:
		select {
		case l.other <- o.Chat.ID + ": " + o.Text:
		default: // one is enough
		}
	}
	return channels.Receipt{ID: "1"}, nil
}

func (l *loopChannel) Typing(context.Context, channels.Chat) error {
	select {
	case l.begun <- struct{}{}:
	default:
	}
	return nil
}

// receiveText receives a message of a user. It returns when the message is stored.
func (l *loopChannel) receiveText(chat, text string) error {
	return l.receive(context.Background(), channels.Incoming{
		Chat: channels.Chat{Channel: "loop", ID: chat}, ID: strconv.FormatInt(l.next.Add(1), 10), User: channels.User{ID: "u"}, Text: text,
	})
}

// newAsker returns a function that writes a message and waits for the answer. It alternates between
// chats, because the end of a turn is stored after its answer is sent, and a message that arrives
// in between would have to wait.
func (l *loopChannel) newAsker(name string) func() error {
	var chats []string
	for i := range 8 {
		chats = append(chats, name+strconv.Itoa(i))
	}
	return l.newAskerIn(chats...)
}

// newAskerIn is newAsker for these chats. Only the agent's answer in the chat of the message
// counts; another message, a second answer or no answer is an error.
func (l *loopChannel) newAskerIn(chats ...string) func() error {
	answered := make([]chan struct{}, len(chats))
	for i, chat := range chats {
		answered[i] = make(chan struct{})
		l.waiting.Store(chat, answered[i])
	}
	n := 0
	return func() error {
		n++
		i := n % len(chats)
		select {
		case <-answered[i]:
			return fmt.Errorf("%s has got a second answer", chats[i])
		default:
		}
		if err := l.receiveText(chats[i], "hello"); err != nil {
			return err
		}
		select {
		case <-answered[i]:
			return nil
		case text := <-l.other:
			return errors.New(text)
		case <-time.After(time.Minute):
			return fmt.Errorf("%s has got no answer", chats[i])
		}
	}
}

// awaitIdle waits until no turn runs. A turn ends in the store after its answer has arrived, and
// that must not take time from another measurement.
func (l *loopChannel) awaitIdle(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); l.gateway.Health(b.Context()).Running > 0; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			b.Fatal("a turn does not end")
		}
	}
}

// benchGateway runs a gateway on a loop until the benchmark ends, or until the function that it
// returns is called.
func benchGateway(b testing.TB, dir, command string, l *loopChannel, ready func(), change ...func(*terminal.Options)) (stop func()) {
	b.Helper()
	cfg := config.Default().Terminal
	cfg.Command, cfg.Protocol = command, "rich"
	o := terminal.Options{Config: cfg, Workspace: dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: zap.NewNop()}
	for _, f := range change {
		f(&o)
	}
	runner := musttest.Get(terminal.NewRunner(o))(b)
	st := musttest.Get(sqlite.Open(b.Context(), filepath.Join(dir, ".nanobot"), sqlite.Options{}))(b)
	gw := gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{"loop": l}, Store: st, MaxConcurrent: 32, Log: zap.NewNop(),
		Settings: gateway.Settings{Agents: map[string]gateway.Agent{store.DefaultAgent: {Runner: runner, Progress: "edit"}}, WhileRunning: "queue", QueueLimit: 20, OnCrash: "retry"},
	})
	l.gateway = gw
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- gw.Run(ctx, ready) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(stop)
	<-l.up
	return stop
}

// bareAgent runs a command with os/exec only. Its input is the envelope of a turn, because its
// length matters: a shell's read makes one system call for each byte.
type bareAgent struct {
	dir, command string
	envelope     []byte
}

func newBareAgent(b testing.TB, dir, command string) bareAgent {
	b.Helper()
	return bareAgent{dir: dir, command: command, envelope: captureEnvelope(b)}
}

func (a bareAgent) run() error {
	cmd := exec.Command("/bin/sh", "-c", a.command)
	cmd.Dir, cmd.Stdin, cmd.Stderr = a.dir, bytes.NewReader(a.envelope), io.Discard
	out, err := cmd.Output()
	if err == nil && !strings.Contains(string(out), `"hi"`) {
		err = fmt.Errorf("%s printed %q", a.command, out)
	}
	return err
}

// captureEnvelope returns the line that an agent gets from a gateway of benchGateway.
func captureEnvelope(b testing.TB) []byte {
	b.Helper()
	dir, l := b.TempDir(), newLoopChannel()
	stop := benchGateway(b, dir, `cat >envelope; echo '{"type":"message","text":"hi"}'`, l, nil)
	defer stop()
	musttest.Do(b, l.newAsker("c")())
	line := musttest.Get(os.ReadFile(filepath.Join(dir, "envelope")))(b)
	return line
}

func measureTime(b *testing.B, f func() error) time.Duration {
	b.Helper()
	began := time.Now()
	musttest.Do(b, f())
	return time.Since(began)
}

func quantile(d []time.Duration, q float64) float64 {
	slices.Sort(d)
	return float64(d[min(len(d)-1, int(q*float64(len(d))))])
}

// BenchmarkTurnAlone reports the median from a message to its answer as a multiple of bare os/exec,
// run by turns.
func BenchmarkTurnAlone(b *testing.B) {
	dir, l := b.TempDir(), newLoopChannel()
	benchGateway(b, dir, trivial, l, nil)
	ask, bare := l.newAsker("c"), newBareAgent(b, dir, trivial)
	var turns, floors []time.Duration
	for b.Loop() {
		floors = append(floors, measureTime(b, bare.run))
		turns = append(turns, measureTime(b, ask))
	}
	b.ReportMetric(quantile(turns, 0.5)/quantile(floors, 0.5), "×floor")
	b.ReportMetric(quantile(turns, 0.5)/1e3, "p50-µs")
}

// inParallel returns a function that calls f so many times for each person, all people at the same
// time.
func inParallel(people, each int, f func(person int) error) func() error {
	return func() error {
		var g errgroup.Group
		for i := range people {
			g.Go(func() error {
				for range each {
					if err := f(i); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return g.Wait()
	}
}

// BenchmarkTurn32 reports the throughput of 32 people side by side as a share of bare os/exec's.
func BenchmarkTurn32(b *testing.B) {
	dir, l := b.TempDir(), newLoopChannel()
	benchGateway(b, dir, trivial, l, nil)
	bare := newBareAgent(b, dir, trivial)
	const people, each = 32, 8
	var asks []func() error
	for i := range people {
		asks = append(asks, l.newAsker(fmt.Sprintf("w%d-", i)))
	}
	var turns, floors []time.Duration
	for b.Loop() {
		floors = append(floors, measureTime(b, inParallel(people, each, func(int) error { return bare.run() })))
		turns = append(turns, measureTime(b, inParallel(people, each, func(i int) error { return asks[i]() })))
	}
	b.ReportMetric(quantile(floors, 0.5)/quantile(turns, 0.5), "×floor-throughput")
	b.ReportMetric(people*each/(quantile(turns, 0.5)/1e9), "turns/s")
}

// BenchmarkUndisturbed reports the latency of a chat while another's send hangs, one has an agent
// that takes a minute and one writes as fast as it is received, as a multiple of what it is without
// them.
func BenchmarkUndisturbed(b *testing.B) {
	quiet, loud := newLoopChannel(), newLoopChannel()
	benchGateway(b, b.TempDir(), trivial, quiet, nil)
	benchGateway(b, b.TempDir(), trivial, loud, nil)
	for _, chat := range []string{"stuck", "slow"} {
		musttest.Do(b, loud.receiveText(chat, chat))
	}
	alone, among := quiet.newAsker("c"), loud.newAsker("c")
	const each = 20
	var calm, disturbed []time.Duration
	for b.Loop() {
		for range each {
			calm = append(calm, measureTime(b, alone))
		}
		end := make(chan struct{})
		var flood sync.WaitGroup
		flood.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if err := loud.receiveText("flood", "more"); err != nil {
					b.Error(err)
					return
				}
			}
		})
		for range each {
			disturbed = append(disturbed, measureTime(b, among))
		}
		close(end)
		flood.Wait()
	}
	b.ReportMetric(quantile(disturbed, 0.5)/quantile(calm, 0.5), "×undisturbed-p50")
	b.ReportMetric(quantile(disturbed, 0.95)/quantile(calm, 0.95), "×undisturbed-p95")
	close(loud.stuck)
}

// BenchmarkStartWithBacklog reports how long a gateway with 100,000 pending messages takes to be
// ready, and how much memory it has when all its agents are at work.
func BenchmarkStartWithBacklog(b *testing.B) {
	const pending = 100_000
	for name, fill := range map[string]func(i int, s store.Store) error{
		"empty":             nil,
		"inbox-many-chats":  func(i int, s store.Store) error { return receiveBacklog(s, strconv.Itoa(i), i) },
		"inbox-one-chat":    func(i int, s store.Store) error { return receiveBacklog(s, "1", i) },
		"outbox-many-chats": func(i int, s store.Store) error { return enqueueBacklog(s, "stuck"+strconv.Itoa(i)) },
		"outbox-one-chat":   func(_ int, s store.Store) error { return enqueueBacklog(s, "stuck") },
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if fill != nil {
				fillBacklog(b, dir, pending, fill)
			}
			var took []time.Duration
			var heap float64
			for b.Loop() {
				l := newLoopChannel()
				var before, after runtime.MemStats
				debug.FreeOSMemory()
				runtime.ReadMemStats(&before)
				began := time.Now()
				stop := benchGateway(b, dir, "exec sleep 60", l, func() { took = append(took, time.Since(began)) })
				if strings.HasPrefix(name, "inbox") {
					<-l.begun
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				heap = max(heap, float64(after.HeapAlloc)-float64(before.HeapAlloc))
				stop()
			}
			b.ReportMetric(quantile(took, 0.5)/1e6, "ms-to-ready")
			b.ReportMetric(heap/(1<<20), "MiB-heap")
		})
	}
}

func receiveBacklog(s store.Store, chat string, id int) error {
	_, err := s.Receive(context.Background(), store.ReceiveRequest{In: channels.Incoming{
		Chat: channels.Chat{Channel: "loop", ID: chat}, ID: strconv.Itoa(id), User: channels.User{ID: "u"}, Text: "hello",
	}})
	return err
}

func enqueueBacklog(s store.Store, chat string) error {
	_, _, err := s.Enqueue(context.Background(), store.Outbound{Parts: []channels.Outgoing{{Chat: channels.Chat{Channel: "loop", ID: chat}, Text: "hello"}}})
	return err
}

// fillBacklog fills a store, with many parallel writes to use group commit.
func fillBacklog(b *testing.B, dir string, n int, fill func(int, store.Store) error) {
	b.Helper()
	s := musttest.Get(sqlite.Open(b.Context(), filepath.Join(dir, ".nanobot"), sqlite.Options{}))(b)
	var next atomic.Int64
	var g sync.WaitGroup
	for range 256 {
		g.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := fill(i, s); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
	musttest.Do(b, s.Close())
}
