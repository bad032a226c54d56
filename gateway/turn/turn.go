package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// Turn is one message worked on by the agent.
type Turn struct {
	stage   *Stage
	agent   string // that runs; inbound names the one that was to run
	set     Agent
	inbound store.Inbound
	ch      channels.Channel
	log     *zap.Logger
	began   time.Time
	slot    Slot
	done    func() // to be called when the agent has ended
	// executor works on the message in the place of the agent; nil: the agent does.
	executor Executor

	// working ends when the turn is told to end. listening ends when nothing that it says is taken
	// any more: we shut down, or the chat goes on without it.
	working, listening lifetime

	inject    injections
	tools     toolAccess
	person    personWait
	kill      context.CancelCauseFunc // cuts the turn off, as the end of the gateway does; set by Run
	transient *transient
	live      *live
	pace      pacing
	memory    *memory
	about     *about
	tracer    *tracer
	pid       atomic.Int64
	// failures is how many agents could not be started for want of resources when this one was. pid
	// orders it.
	failures int

	saidBytes, saidMedia atomic.Int64 // what the agent said, for the audit

	asks  sync.Mutex
	asked map[[2]string]int // how often this run has asked a question

	short      atomic.Bool // the person was told that the turn waits for resources
	revoked    atomic.Bool // the sender has lost access
	agentEnded atomic.Bool // the agent has ended and only the end is to be recorded

	mu       sync.Mutex
	sequence int    // of the newest message of the turn
	caption  string // of the screen that was shown last
	late     int64  // how many bytes of files may still be copied after the turn was told to end
}

// lifetime is a context that can be cancelled before it is created.
type lifetime struct {
	mu     sync.Mutex
	ended  bool
	cause  error
	cancel context.CancelCauseFunc
}

// begin creates the context.
func (l *lifetime) begin(parent context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	if l.cancel = cancel; l.ended {
		cancel(l.cause)
	}
	return ctx
}

// over reports whether end was called.
func (l *lifetime) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// end ends the context. Of several causes the first counts.
func (l *lifetime) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended, l.cause = true, cause
	if l.cancel != nil {
		l.cancel(cause)
	}
}

// Inbound is the message that the turn works on.
func (t *Turn) Inbound() store.Inbound { return t.inbound }

// Agent is the name of the agent that works on it.
func (t *Turn) Agent() string { return t.agent }

// Controller returns the runner of the turn if its agent's protocol may carry out commands itself,
// else nil. After a change of the settings it is another one than that of the next turn.
func (t *Turn) Controller() terminal.Controller {
	c, _ := t.set.Runner.(terminal.Controller)
	return c
}

// Began is when the turn began.
func (t *Turn) Began() time.Time { return t.began }

// PID is the process id of the agent, or 0.
func (t *Turn) PID() int { return int(t.pid.Load()) }

// AgentEnded reports whether the agent has ended and only the end is to be recorded.
func (t *Turn) AgentEnded() bool { return t.agentEnded.Load() }

// Cancel ends the turn. The cause decides what it says about that.
func (t *Turn) Cancel(cause error) { t.working.end(cause) }

// Drop gives back what the turn was given for a run that does not come.
func (t *Turn) Drop() {
	t.working.end(nil)
	t.done()
}

// Run works on the message and records how that ended. A turn that was told to stop and does not is
// left behind. killed ends when turns must not be waited for any longer.
func (t *Turn) Run(killed context.Context) {
	killed, t.kill = context.WithCancelCause(killed)
	defer t.kill(nil)
	// What is listened to no more need not work on. When the turn learns that it is to end because
	// it is killed, nobody listens any more, so that it does not say "Stopped.": it is run again.
	listening := t.listening.begin(killed)
	defer t.listening.end(nil)
	ctx := t.working.begin(listening)
	defer t.working.end(nil)
	if ok, err := t.admitted(killed); !ok || err != nil {
		t.done()
		if err == nil {
			t.dismiss(killed)
		}
		return
	}
	t.auditStart()
	if t.ch == nil {
		t.done()
		err := fmt.Errorf("channel %s is not enabled any more", t.inbound.In.Chat.Channel)
		t.finish(killed, listening, terminal.Outcome{Status: terminal.Failed}, err)
		return
	}
	stopTyping := t.startDisplay(ctx, listening)
	t.tellReplaced(listening)
	out, err := t.runAgent(killed, ctx, listening)
	stopTyping()
	t.agentEnded.Store(true)
	t.working.end(nil)
	t.slot.Release() // another agent can run while the end is recorded
	t.finish(killed, listening, out, err)
}

// startDisplay has the stage show what the turn does, as soon as there is something to show: most
// turns are too short for that, and need no goroutines for it. The turn does not wait for what is
// shown, since a network that hangs must not hold up the chat; draining does. stop is called when
// the agent has ended.
func (t *Turn) startDisplay(ctx, listening context.Context) (stop func() bool) {
	stop = func() bool { return false }
	if typer, ok := t.ch.(channels.Typer); ok {
		stop = time.AfterFunc(typingAfter, func() {
			t.stage.display.Go(func(context.Context) { t.typing(ctx, typer) })
		}).Stop
	}
	t.transient.start = t.onDemand(func(sending context.Context) { t.transient.run(sending, ctx) })
	t.live.start = t.onDemand(func(sending context.Context) { t.live.run(sending, listening) })
	t.about.start = t.onDemand(func(sending context.Context) { t.about.run(sending, listening) })
	return stop
}

// onDemand returns a function that has the stage run a task when it is called first.
func (t *Turn) onDemand(task func(sending context.Context)) func() {
	return sync.OnceFunc(func() { t.stage.display.Go(task) })
}

// runAgent runs the agent and waits for its end, or until the chat goes on without it.
func (t *Turn) runAgent(killed, ctx, listening context.Context) (terminal.Outcome, error) {
	// What is printed after running has ended is still delivered, but of large files only what was
	// copied by then.
	running, end := context.WithCancel(ctx)
	calls := callbacks{
		emit: func(f terminal.Frame) error { return t.emit(listening, running, f) },
		say:  func(m channels.Message) error { return t.say(listening, m, 0) },
		ask:  func(ctx context.Context, q terminal.Question) (terminal.Answer, error) { return t.ask(ctx, killed, q) },
		end:  end,
	}
	defer t.tools.admit(calls, ctx.Done())()
	type result struct {
		out terminal.Outcome
		err error
	}
	ended := make(chan result, 1)
	go func() {
		growStack()
		defer t.done()
		defer end()
		out, err := t.work(ctx, calls)
		ended <- result{out, err}
	}()
	select {
	case r := <-ended:
		return r.out, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-ended:
		return r.out, r.err
	case <-time.After(t.stage.o.AbandonAfter):
		t.abandon(killed)
		return terminal.Outcome{Status: terminal.Stopped}, nil
	}
}

// growStack makes the stack of a new goroutine as large as the work on a turn needs it. The runtime
// would double it three times, and copy all frames that are on it each time: some 3 % of a short
// turn.
//
//go:noinline
func growStack() {
	var room [10 << 10]byte
	runtime.KeepAlive(&room)
}

// abandon lets the chat go on without a turn that was told to stop and does not.
func (t *Turn) abandon(killed context.Context) {
	t.listening.end(ErrStopped)
	t.log.Error("turn does not end, the chat goes on without it")
	if t.revoked.Load() {
		return
	}
	notice := &outbox.Message{Message: channels.Message{
		Chat: t.inbound.In.Chat, Kind: channels.Answer, Text: "Stopped. It did not end by itself, so I went on without it.", ReplyTo: t.inbound.In.ID,
	}}
	t.stage.display.Go(func(context.Context) {
		if err := t.stage.o.Outbox.Post(killed, notice); err != nil {
			t.log.Warn("chat not told", zap.Error(err))
		}
	})
}

// cutOff tells whether it was our end that ended the turn.
func cutOff(killed context.Context, out terminal.Outcome, err error) bool {
	return killed.Err() != nil && (err != nil || out.Status == terminal.Stopped)
}

// finish records the end. When we could not run the agent, the chat is told.
func (t *Turn) finish(killed, listening context.Context, out terminal.Outcome, err error) {
	lasted := time.Since(t.began)
	took := zap.Duration("took", lasted)
	cut := cutOff(killed, out, err)
	t.auditEnd(out, err, cut, lasted)
	if cut {
		t.log.Warn("turn cut off by shutdown", took)
		if t.person.cut.Load() {
			t.requeue(killed)
		}
		return // it stays running on disk, for the next start to find
	}
	if t.wasRevoked(killed) {
		t.log.Info("turn ended", zap.String("status", store.Revoked), took)
		t.inject.close() // what others handed to it waits for turns of its own
		out.Status = store.Revoked
		t.record(killed, store.Done, t.outcome(out))
		return
	}
	read := t.inject.closeAndRead(out.Unread)
	if err != nil {
		t.log.Error("turn broke", took, zap.Error(err))
		out.Status = terminal.Failed
		t.apologise(listening)
	} else {
		t.log.Info("turn ended", zap.String("status", string(out.Status)), zap.Int("exit", out.ExitCode), zap.String("signal", out.Signal), took)
	}
	t.record(killed, store.Done, t.outcome(out), read...)
}

// apologise tells the chat that we could not run the agent.
func (t *Turn) apologise(listening context.Context) {
	if t.ch == nil {
		return
	}
	if err := t.say(listening, CouldNotRun(), 0); err != nil {
		t.log.Warn("chat not told", zap.Error(err))
	}
}

// CouldNotRun is what the chat is told of a turn whose agent could not be run.
func CouldNotRun() channels.Message {
	return channels.Message{
		Kind: channels.Failure, Code: "GATEWAY", Text: "Sorry, the agent could not be run. The operator can see in the log why.",
	}
}

// outcome is how the turn ended, as it is stored.
func (t *Turn) outcome(out terminal.Outcome) store.Outcome {
	return store.Outcome{
		Agent: t.agent, Status: string(out.Status), ExitCode: out.ExitCode, Signal: out.Signal, Memory: out.Memory, CPU: out.CPU, Trace: t.tracer.text(out.Stderr),
	}
}

// record stores the end of the turn.
func (t *Turn) record(killed context.Context, state store.State, o store.Outcome, with ...int64) {
	ctx, took := context.WithoutCancel(killed), time.Since(t.began)
	defer t.stage.o.Events.Tell(events.Event{What: events.Ended, Chat: t.inbound.In.Chat, Inbound: t.inbound.ID, Agent: t.agent, Status: o.Status, Took: took})
	_ = retry.Until(killed, func() error { // else it stays running on disk, for the next start to find
		next, err := t.stage.o.Store.Finish(ctx, t.inbound.ID, state, o, with...)
		if next {
			t.stage.o.Wake()
		}
		if errors.Is(err, store.ErrState) {
			return nil // ended already
		}
		return err
	}, func(err error) { t.log.Error("end of turn not recorded, will retry", zap.Error(err)) })
}

// typingAfter is how long an agent works before that is shown, and typingEvery how often: networks
// show it for some five seconds.
const typingAfter, typingEvery = 300 * time.Millisecond, 4 * time.Second

// typing shows that the agent is at work, unless it is the person who has to write.
func (t *Turn) typing(ctx context.Context, typer channels.Typer) {
	for ; ctx.Err() == nil; retry.Sleep(ctx, typingEvery) {
		if !t.AwaitsSince().IsZero() {
			continue
		}
		if err := typer.Typing(ctx, t.inbound.In.Chat); err != nil && ctx.Err() == nil {
			t.log.Debug("typing not shown", zap.Error(err))
		}
	}
}
