package turn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/internal/musttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// fakeRunner is a runner whose agent is a function.
type fakeRunner struct {
	run    func(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.Outcome, error)
	closed bool
}

func (a *fakeRunner) Turn(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
	return a.run(ctx, req, chat)
}
func (a *fakeRunner) GrantFiles(string, string, []string) error { return nil }
func (a *fakeRunner) Close()                                    { a.closed = true }
func (a *fakeRunner) StartWarming(string)                       {}

// fakeStore records how turns ended. Methods that no test needs panic.
type fakeStore struct {
	turn.Store
	mu      sync.Mutex
	running map[int64]bool // if not nil, all that Finish and Requeue take
	ends    []string       // of Finish and Requeue
	agents  []string       // that ran, of Finish
	used    []*store.TurnUsage
	memory  map[string]string
	details string
	process store.Process // that was recorded last
	fail    func(method string) error

	questions []store.Question // without an answer
}

func (d *fakeStore) failure(method string) error {
	if d.fail == nil {
		return nil
	}
	return d.fail(method)
}

func (d *fakeStore) Recent(context.Context, channels.Chat, int) ([]store.Inbound, error) {
	return nil, nil
}
func (d *fakeStore) CountPending(context.Context, channels.Chat) (int, error) { return 0, nil }

func (d *fakeStore) SetProcess(_ int64, p store.Process) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process = p
	return nil
}

func (d *fakeStore) Finish(_ context.Context, id int64, state store.State, out store.Outcome, with ...int64) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failure("Finish"); err != nil {
		return false, err
	}
	if err := d.checkRunning(id); err != nil {
		return false, err
	}
	d.ends = append(d.ends, fmt.Sprint(id, " ", state, " ", out.Status, " ", with))
	d.agents = append(d.agents, out.Agent)
	d.used = append(d.used, out.Usage)
	if out.Fold != nil {
		d.details = out.Fold.Details
	}
	return true, nil
}

func (d *fakeStore) Requeue(_ context.Context, id int64, unbegun bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkRunning(id); err != nil {
		return err
	}
	d.ends = append(d.ends, fmt.Sprint(id, " again, unbegun ", unbegun))
	return nil
}

func (d *fakeStore) FolderName(context.Context) (string, error) { return "home", nil }

func (d *fakeStore) Dismissed(context.Context) (inbounds, deliveries []int64, err error) {
	return nil, nil, nil
}

func (d *fakeStore) SaveDetails(_ context.Context, _ int64, text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.details = text
	return nil
}

func (d *fakeStore) Question(context.Context, string) (store.Question, bool, error) {
	return store.Question{}, false, nil
}

func (d *fakeStore) Withdraw(context.Context, string) (bool, error) { return false, nil }

func (d *fakeStore) Dismiss(context.Context, store.Person) error { return nil }

func (d *fakeStore) UnansweredQuestions(_ context.Context, _ channels.Chat, inbound int64) (left []store.Question, _ error) {
	for _, q := range d.questions {
		if q.Inbound == inbound {
			left = append(left, q)
		}
	}
	return left, nil
}

// checkRunning refuses an inbound message that is not running.
func (d *fakeStore) checkRunning(id int64) error {
	if d.running != nil && !d.running[id] {
		return store.ErrState
	}
	delete(d.running, id)
	return nil
}

func (d *fakeStore) Recall(_ context.Context, chat channels.Chat, key string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory[chat.ID+"/"+key], nil
}

func (d *fakeStore) Remember(_ context.Context, chat channels.Chat, key, value string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.memory == nil {
		d.memory = map[string]string{}
	}
	d.memory[chat.ID+"/"+key] = value
	return nil
}

// fakeOutbox is an outbox that records messages.
type fakeOutbox struct {
	turn.Outbox
	mu      sync.Mutex
	posted  []string
	replace []string // the places that the newest message took
	shown   []string // what transient messages showed, in order
	at      []time.Time
	removed []string
	folded  []string                // boards that were folded
	notify  []channels.Notification // of the posted messages

	reactions []string // message and reaction
	outcomes  []string // of questions
}

func (*fakeOutbox) Call(_ channels.Chat, call func() error) error { return call() }

func (*fakeOutbox) ShowMenu(_ channels.Chat, set func(context.Context) error) {
	if err := set(context.Background()); err != nil {
		panic(err)
	}
}

func (p *fakeOutbox) ShowOutcome(q store.Question, how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcomes = append(p.outcomes, q.ID+": "+how)
}

func (p *fakeOutbox) EndScreen(context.Context, channels.Chat, int64, time.Time) {}
func (p *fakeOutbox) MoveScreenDown(context.Context, channels.Chat)              {}

func (p *fakeOutbox) ClosePickers(context.Context, channels.Chat, int64, words.Words) error {
	return nil
}

func (p *fakeOutbox) Post(_ context.Context, m *outbox.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posted, p.replace, p.notify = append(p.posted, m.Text), nil, append(p.notify, m.Notification)
	for _, s := range m.Replace {
		p.replace = append(p.replace, s.ID)
	}
	m.Replace = nil // all are taken
	return nil
}

func (p *fakeOutbox) Show(_ context.Context, t outbox.Transient) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown, p.at = append(p.shown, t.Out.Text), append(p.at, time.Now())
	if t.ID != "" {
		return t.ID, nil
	}
	return fmt.Sprint("s", len(p.shown)), nil
}

func (p *fakeOutbox) Remove(transient store.Transient) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = append(p.removed, transient.ID)
}

func (p *fakeOutbox) EndBoard(e outbox.EndedBoard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Board.ID == "" {
		if e.Fallback != nil {
			p.posted, p.notify = append(p.posted, e.Fallback.Text), append(p.notify, e.Fallback.Notification)
		}
		return
	}
	if e.Folded == nil {
		p.removed = append(p.removed, e.Board.ID)
		return
	}
	p.folded = append(p.folded, fmt.Sprintf("%s %s|%s|%v", e.Board.ID, e.Folded.Text, e.Folded.Details, e.Folded.Silent))
}

func (p *fakeOutbox) ReactWhenSent(chat channels.Chat, id string, _ int64, r channels.Reaction) {
	p.React(chat, id, r)
}

func (p *fakeOutbox) React(_ channels.Chat, id string, r channels.Reaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reactions = append(p.reactions, id+" "+string(r))
}

func (p *fakeOutbox) RemoveLeft(context.Context, channels.Chat, int64, []string) error { return nil }
func (p *fakeOutbox) Empty(context.Context, channels.Chat) bool                        { return true }

// fakeChannel is a channel that can edit, and accepts everything.
type fakeChannel struct {
	channels.Channel
	channels.Editor
}

func (fakeChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: m.Text, Details: m.Details, Buttons: m.Buttons, Notification: m.Notification}}, nil
}

func (fakeChannel) Replace(context.Context, string, channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{}, nil
}

// fakeSlot records how long a turn yields it, and that it was released.
type fakeSlot struct {
	pauses   []time.Duration
	released atomic.Bool
	exited   bool // told that no process is left
}

func (s *fakeSlot) Release() { s.released.Store(true) }

func (s *fakeSlot) Retake(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	s.released.Store(false)
	return true
}

func (s *fakeSlot) AgentExited() { s.exited = true }

func (s *fakeSlot) Yield(ctx context.Context, pause time.Duration, wake <-chan struct{}) bool {
	s.pauses = append(s.pauses, pause)
	select {
	case <-time.After(pause):
		return true
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// defaultAgentOnly returns settings with the default agent only.
func defaultAgentOnly(runner turn.Runner) map[string]turn.AgentSettings {
	return map[string]turn.AgentSettings{store.DefaultAgent: {Runner: runner, Progress: turn.EditProgress, Inject: true}}
}

// fixture is a stage with fakes of its neighbours.
type fixture struct {
	*turn.Stage
	channels map[string]channels.Channel
	agent    fakeRunner
	disk     fakeStore
	box      fakeOutbox
	slot     fakeSlot
	woken    int
	chosen   string // the agent that answers next
	stop     func() // ends what the stage shows, and waits for it
}

var ann = channels.Chat{Channel: "net", ID: "ann"}

func newFixture(t *testing.T, run func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error)) *fixture {
	t.Helper()
	return newFixtureWith(t, run, func(*turn.Options) {})
}

// newFixtureWith is newFixture with changed options.
func newFixtureWith(t *testing.T, run func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error), change func(*turn.Options)) *fixture {
	t.Helper()
	fx := &fixture{agent: fakeRunner{run: run}, channels: map[string]channels.Channel{"net": fakeChannel{}}, chosen: store.DefaultAgent}
	o := turn.Options{
		Channels: fx.channels, Store: &fx.disk, Outbox: &fx.box,
		Access: fakeAccess{}, Choice: fakeChoice{&fx.chosen}, Notices: fakeNotices{},
		Wake: func() { fx.woken++ }, AbandonAfter: 15 * time.Second, BoardDelay: time.Hour, Log: zap.NewNop(),
	}
	change(&o)
	fx.Stage = turn.New(o)
	fx.Reload(turn.Settings{Agents: defaultAgentOnly(&fx.agent), OnCrash: turn.ReportCrash})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { fx.Run(ctx) })
	fx.stop = func() {
		cancel()
		running.Wait()
	}
	return fx
}

func (fx *fixture) beginTurn() *turn.Turn { return fx.beginTurnOf(store.DefaultAgent) }

// beginTurnOf begins the turn of a message for an agent.
func (fx *fixture) beginTurnOf(agent string) *turn.Turn {
	return fx.NewTurn(store.Inbound{ID: 7, Agent: agent, In: channels.Incoming{Chat: ann, ID: "m1", Text: "hello"}}, &fx.slot)
}

// checkEqual compares two values as text.
func checkEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func sayingAgent(text string) func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
	return func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
		return terminal.Outcome{Status: terminal.Done}, chat.Emit(terminal.Frame{Kind: terminal.Message, Text: text})
	}
}

func TestATurnPostsTheAgentsOutputAndRecordsItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, sayingAgent("hi"))
		fx.beginTurn().Run(t.Context())
		fx.stop()
		checkEqual(t, "posted", fx.box.posted, []string{"hi"})
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done done []"})
		checkEqual(t, "woken", fx.woken, 1)
	})
}

func TestTheSlotIsReleasedWhenTheAgentHasExitedAndItsOutputIsBeingStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			chat.Report(terminal.AllExited{})
			return terminal.Outcome{Status: terminal.Done}, chat.Emit(terminal.Frame{Kind: terminal.Message, Text: "hi"})
		})
		fx.beginTurn().Run(t.Context())
		fx.stop()
		checkEqual(t, "told", fx.slot.exited, true)
		checkEqual(t, "posted", fx.box.posted, []string{"hi"})
	})
}

func TestTheOutcomeIsStoredAsSoonAsTheStoreAcceptsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, sayingAgent("hi"))
		failures := 3
		fx.disk.fail = func(method string) error {
			if !fx.slot.released.Load() {
				t.Error("the turn has its slot while its end is recorded: no other agent can run meanwhile")
			}
			if failures--; method == "Finish" && failures >= 0 {
				return errors.New("no room")
			}
			return nil
		}
		fx.beginTurn().Run(t.Context())
		fx.stop()
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done done []"})
	})
}

func TestATurnThatIsCancelledBeforeItRunsIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		fx := newFixture(t, func(ctx context.Context, _ terminal.Request, _ terminal.Chat) (terminal.Outcome, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return terminal.Outcome{Status: terminal.Stopped}, nil
		})
		one := fx.beginTurn()
		one.Cancel(turn.ErrStopped)
		one.Cancel(turn.ErrInterrupted) // the first cause counts
		one.Run(t.Context())
		fx.stop()
		checkEqual(t, "cause", cause, turn.ErrStopped)
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done stopped []"})
	})
}

func TestAKilledTurnPostsNothingAndIsNotFinished(t *testing.T) {
	for range 20 { // contexts end in any order
		synctest.Test(t, func(t *testing.T) {
			fx := newFixture(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
				<-ctx.Done()
				return terminal.Outcome{Status: terminal.Stopped}, chat.Emit(terminal.Frame{Kind: terminal.Error, Text: "Stopped."})
			})
			untilKilled, kill := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { kill(errors.New("the gateway ends")) })
			fx.beginTurn().Run(untilKilled)
			fx.stop()
			checkEqual(t, "recorded", fx.disk.ends, []string{})
			checkEqual(t, "posted", fx.box.posted, []string{})
		})
	}
}

func TestTheChatContinuesWithoutATurnThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		awake := make(chan struct{})
		var late error
		fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			<-awake // deaf to its context
			late = chat.Emit(terminal.Frame{Kind: terminal.Message, Text: "too late"})
			return terminal.Outcome{Status: terminal.Done}, nil
		})
		one := fx.beginTurn()
		began := time.Now()
		time.AfterFunc(time.Second, func() { one.Cancel(turn.ErrStopped) })
		one.Run(t.Context())
		checkEqual(t, "took", time.Since(began), 16*time.Second)
		close(awake)
		synctest.Wait()
		fx.stop()
		checkEqual(t, "what it said late", late, turn.ErrStopped)
		checkEqual(t, "posted", fx.box.posted, []string{"Stopped. The agent did not end in time, so I continued without it."})
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done stopped []"})
	})
}

func TestAPersonWithoutAccessGetsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
			t.Error("the agent was run")
			return terminal.Outcome{}, nil
		})
		inbound := store.Inbound{ID: 7, In: channels.Incoming{Chat: ann, User: channels.User{ID: "stranger"}}}
		fx.NewTurn(inbound, &fx.slot).Run(t.Context())
		fx.stop()
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 dead revoked []"})
		checkEqual(t, "posted", fx.box.posted, []string{})
	})
}

func TestProgressIsOneMessageAndEditedNoMoreOftenThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			for i := range 100 {
				if err := chat.Emit(terminal.Frame{Kind: terminal.Progress, Text: fmt.Sprint("step ", i)}); err != nil {
					return terminal.Outcome{}, err
				}
				time.Sleep(100 * time.Millisecond)
			}
			return terminal.Outcome{Status: terminal.Done}, nil
		})
		fx.beginTurn().Run(t.Context())
		synctest.Wait()
		fx.stop()
		for i := 1; i < len(fx.box.at); i++ {
			if pause := fx.box.at[i].Sub(fx.box.at[i-1]); pause < 1500*time.Millisecond {
				t.Errorf("two edits within %v", pause)
			}
		}
		if n := len(fx.box.shown); n < 6 || n > 8 { // ten seconds of it
			t.Errorf("%d edits: %q", n, fx.box.shown)
		}
		checkEqual(t, "first shown", fx.box.shown[0], "⏳ step 0")
		checkEqual(t, "removed", fx.box.removed, []string{"s1"})
		checkEqual(t, "posted", fx.box.posted, []string{})
	})
}

func TestAStreamedAnswerBecomesTheAnswer(t *testing.T) {
	for name, writing := range map[string]time.Duration{"soon": 2 * time.Second, "late": 50 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
					_ = chat.Emit(terminal.Frame{Kind: terminal.Partial, Text: "It is"})
					time.Sleep(writing)
					return terminal.Outcome{Status: terminal.Done}, chat.Emit(terminal.Frame{Kind: terminal.Message, Text: "It is done."})
				})
				fx.beginTurn().Run(t.Context())
				fx.stop()
				checkEqual(t, "shown", fx.box.shown, []string{"It is"})
				checkEqual(t, "posted", fx.box.posted, []string{"It is done."})
				checkEqual(t, "places", fx.box.replace, []string{"s1"})
				checkEqual(t, "removed", fx.box.removed, []string{})
			})
		})
	}
}

func TestAMessageIsInjectedUntilTheTurnCountsAsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			checkEqual(t, "first injection", (<-chat.Injections()).Text, "one")
			<-ctx.Done()
			return terminal.Outcome{Status: terminal.Stopped}, nil
		})
		one := fx.beginTurn()
		var ran sync.WaitGroup
		ran.Go(func() { one.Run(t.Context()) })
		hand := func(id int64, text string) {
			one.Inject(store.Inbound{ID: id, In: channels.Incoming{Chat: ann, Text: text, User: channels.User{ID: "bob"}}})
		}
		hand(8, "one")
		synctest.Wait()
		hand(9, "two") // which the agent does not read
		checkEqual(t, "handed", one.InjectedCount(), 2)
		checkEqual(t, "whose wait", one.WaitingInjectors(), []string{"bob"})
		one.Cancel(turn.ErrStopped)
		hand(10, "three")
		checkEqual(t, "handed after the stop", one.InjectedCount(), 2)
		ran.Wait()
		fx.stop()
		checkEqual(t, "recorded", fx.disk.ends, []string{"7 done stopped [8]"}) // two gets a turn of its own
	})
}

func TestAnAgentThatEndsJustBeforeATurnWaitsForResourcesWakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		var fx *fixture
		fx = newFixture(t, func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
			if tries++; tries > 1 {
				return terminal.Outcome{Status: terminal.Done}, nil
			}
			fx.NewTurn(store.Inbound{ID: 6, Agent: store.DefaultAgent, In: channels.Incoming{Chat: ann, ID: "m0"}}, &fakeSlot{}).Run(t.Context())
			return terminal.Outcome{}, &terminal.ShortageError{Errno: 11, Err: errors.New("no process")}
		})
		began := time.Now()
		fx.beginTurn().Run(t.Context())
		checkEqual(t, "waited", time.Since(began), time.Duration(0))
		fx.stop()
	})
}

func TestAShortageIsRetriedWithBackoffAndThePersonIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		fx := newFixture(t, func(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			if tries++; tries < 9 {
				return terminal.Outcome{}, &terminal.ShortageError{Errno: 11, Err: errors.New("no process")}
			}
			return sayingAgent("at last")(ctx, req, chat)
		})
		fx.beginTurn().Run(t.Context())
		synctest.Wait()
		fx.stop()
		want := []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000}
		for i := range want {
			want[i] *= time.Millisecond
		}
		checkEqual(t, "pauses", fx.slot.pauses, want)
		checkEqual(t, "posted", fx.box.posted, []string{"at last"})
		if len(fx.box.shown) == 0 {
			t.Error("nobody was told that the turn waits")
		}
		checkEqual(t, "removed", fx.box.removed, []string{"s1"})
	})
}

// keepingChannel is a channel that keeps connections open.
type keepingChannel struct {
	fakeChannel
	closed *int
}

func (c keepingChannel) CloseIdleConnections() { *c.closed++ }

func TestTheEndOfAnAgentWakesATurnThatWaitsForDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		ends, closed := make(chan struct{}), 0
		fx := newFixtureWith(t, func(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			switch tries.Add(1) {
			case 1: // holds the descriptors for the whole time
				<-ends
				return terminal.Outcome{Status: terminal.Done}, nil
			case 9:
				return sayingAgent("at last")(ctx, req, chat)
			}
			return terminal.Outcome{}, &terminal.ShortageError{Errno: syscall.EMFILE, Err: syscall.EMFILE}
		}, func(o *turn.Options) { o.Channels["net"], o.Wake = keepingChannel{closed: &closed}, func() {} })
		began := time.Now()
		var running sync.WaitGroup
		holding := fx.NewTurn(store.Inbound{ID: 6, Agent: store.DefaultAgent, In: channels.Incoming{Chat: ann, ID: "m0", Text: "hello"}}, &fakeSlot{})
		running.Go(func() { holding.Run(t.Context()) })
		synctest.Wait()
		running.Go(func() { fx.beginTurn().Run(t.Context()) })
		for tries.Load() < 8 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		close(ends)
		waited := time.Since(began)
		running.Wait()
		if after := time.Since(began) - waited; after > 0 {
			t.Errorf("the turn waited %v after the end of the other agent", after)
		}
		fx.stop()
		checkEqual(t, "posted", fx.box.posted, []string{"at last"})
		checkEqual(t, "closed", closed, 7)
	})
}

func TestARunnerIsClosedWhenAnotherIsUsedAndItsLastTurnHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		fx := newFixture(t, func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
			<-release
			return terminal.Outcome{Status: terminal.Done}, nil
		})
		one, two := fx.beginTurn(), fx.beginTurn()
		next := &fakeRunner{run: sayingAgent("next")}
		fx.Reload(turn.Settings{Agents: defaultAgentOnly(next)})
		two.Drop() // its program ends before it runs
		var ran sync.WaitGroup
		ran.Go(func() { one.Run(t.Context()) })
		synctest.Wait()
		if fx.agent.closed {
			t.Error("a runner was closed while its turn ran")
		}
		close(release)
		ran.Wait()
		synctest.Wait()
		if !fx.agent.closed || next.closed {
			t.Errorf("closed: the last %v, the next %v", fx.agent.closed, next.closed)
		}
		fx.Close()
		if !next.closed {
			t.Error("the runner was not closed at the end")
		}
		fx.stop()
	})
}

func TestRecoverReportsOrRetriesTurnsThatWereCutOff(t *testing.T) {
	started := store.Process(process.NewStartingRecord())
	inbounds := []store.Inbound{
		{ID: 1, Attempt: 1, In: channels.Incoming{Chat: ann}, Process: store.Process(process.NewNotStartedRecord())}, // it had not begun
		{ID: 2, Attempt: 1, In: channels.Incoming{Chat: ann}, Process: started},
		{ID: 3, Attempt: 3, In: channels.Incoming{Chat: ann}, Process: started},
		{ID: 4, Attempt: 1, In: channels.Incoming{Chat: ann}, Process: started, Outcome: store.Outcome{Status: string(terminal.Stopped)}},
	}
	for _, c := range []struct {
		onCrash turn.OnCrash
		ends    []string
		reports int
	}{
		{turn.ReportCrash, []string{"1 again, unbegun true", "2 interrupted stopped []", "3 interrupted stopped []", "4 interrupted stopped []"}, 2},
		{turn.RetryCrash, []string{"1 again, unbegun true", "2 again, unbegun false", "3 interrupted stopped []", "4 interrupted stopped []"}, 1},
	} {
		t.Run(string(c.onCrash), func(t *testing.T) {
			fx := newFixture(t, sayingAgent("hi"))
			defer fx.stop()
			fx.Reload(turn.Settings{Agents: defaultAgentOnly(&fx.agent), OnCrash: c.onCrash})
			fx.disk.running = map[int64]bool{1: true, 2: true, 3: true, 4: true}
			failed := false
			fx.disk.fail = func(method string) error {
				if method == "Finish" && !failed {
					failed = true
					return errors.New("no room")
				}
				return nil
			}
			musttest.Do(t, fx.KillLeftover(t.Context()))
			fx.KillAgents(inbounds)
			if err := fx.Recover(t.Context(), store.Adopted{Inbounds: inbounds}); err == nil {
				t.Error("a failure was not reported")
			}
			if err := fx.Recover(t.Context(), store.Adopted{Inbounds: inbounds}); err != nil { // it goes on where it was
				t.Fatal(err)
			}
			checkEqual(t, "recorded", fx.disk.ends, c.ends)
			checkEqual(t, "reports", len(fx.box.posted), c.reports+1) // one twice, which the store takes for one by its sequence number
		})
	}
}

func TestAgentInformationIsStoredForTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			chat.Report(terminal.AgentInfo{Commands: []terminal.Command{{Name: "plan"}}})
			return terminal.Outcome{Status: terminal.Done}, nil
		})
		one := fx.beginTurn()
		one.Run(t.Context())
		synctest.Wait()
		now, ok := one.AgentInfo()
		last, err := fx.StoredAgentInfo(t.Context(), ann, store.DefaultAgent)
		if !ok || err != nil || len(now.Commands) != 1 || len(last.Commands) != 1 || last.Commands[0].Name != "plan" {
			t.Errorf("told %+v (%v), kept %+v (%v)", now, ok, last, err)
		}
		fx.stop()
	})
}

// slowMenuChannel is a channel whose menu is slow.
type slowMenuChannel struct{ fakeChannel }

func (slowMenuChannel) SetChatMenu(context.Context, channels.Chat, []channels.Command) error {
	time.Sleep(3 * time.Second)
	return nil
}

func TestTheLatestAgentInformationIsStoredEvenIfTheMenuIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			chat.Report(terminal.AgentInfo{Commands: []terminal.Command{{Name: "first"}}})
			time.Sleep(2 * time.Second) // the menu is being set
			chat.Report(terminal.AgentInfo{Commands: []terminal.Command{{Name: "second"}}})
			return terminal.Outcome{Status: terminal.Done}, nil
		})
		fx.channels["net"] = slowMenuChannel{}
		fx.beginTurn().Run(t.Context())
		fx.Idle(t.Context())
		last, err := fx.StoredAgentInfo(t.Context(), ann, store.DefaultAgent)
		if err != nil || len(last.Commands) != 1 || last.Commands[0].Name != "second" {
			t.Errorf("kept %+v (%v)", last, err)
		}
		fx.stop()
	})
}

func TestATurnIsTracedWhenThereIsAnObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var box fakeOutbox
		var disk fakeStore
		var happened []events.Type
		s := turn.New(turn.Options{
			Channels: map[string]channels.Channel{"net": fakeChannel{}}, Store: &disk, Outbox: &box, Wake: func() {}, Log: zap.NewNop(),
			Access: fakeAccess{}, Notices: fakeNotices{},
			Events: func(e events.Event) { happened = append(happened, e.Type) },
		})
		s.Reload(turn.Settings{Agents: defaultAgentOnly(&fakeRunner{run: sayingAgent("hi")})})
		one := s.NewTurn(store.Inbound{ID: 7, In: channels.Incoming{Chat: ann}}, &fakeSlot{})
		one.Run(t.Context())
		checkEqual(t, "events", happened, []events.Type{events.Started, events.Output, events.Ended})
		if trace := one.Trace(); len(trace.Lines) != 1 || trace.Lines[0].Text != "hi" {
			t.Errorf("traced %+v", trace)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.Run(ctx)
	})
}
