package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/tasks"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Turn is the work of an agent on one message: its life, with its people and its output.
type Turn struct {
	*facts
	*people
	*output
	secret        string // the text of a message that is a password; inbound has none then
	releaseRunner func() // to be called when the agent has ended
	// executor works on the message instead of the agent; nil: the agent does.
	executor   Executor
	toolAccess toolAccess
	fold       *store.Fold // what stays of the board; set when the agent has ended
	memory     *memory
	usage      usage
	info       *infoRecorder
	// failures is the number of failed starts, across all turns, when this agent was started. It is
	// read after pid, which publishes it.
	failures int

	lacksResources   atomic.Bool // the agent cannot be started at the moment
	shortageReported atomic.Bool // the chat was told that the turn waits for resources
	revoked          atomic.Bool // the sender has lost access
	agentEnded       atomic.Bool // the agent has ended and only the outcome is to be stored
}

// facts are what the parts of a turn share.
type facts struct {
	stage    *Stage
	agent    string // that runs; inbound.Agent is the chosen one, which may no longer be configured
	settings AgentSettings
	inbound  store.Inbound
	ch       channels.Channel // nil: it is no longer enabled
	words    words.Words      // in the language of the asker
	log      *zap.Logger
	started  time.Time
	slot     Slot
	pid      atomic.Int64
	display  *display.Display
	clock    waitClock
	kill     context.CancelCauseFunc // cuts the turn off, as a shutdown does; set by Run
	lost     atomic.Bool             // another member has the turn's message
	aside    atomic.Bool             // the turn has no slot and counts as not started; see chat.StepAside

	// working ends when the turn is told to end. accepting ends when the turn's output is no longer
	// accepted, because the gateway shuts down or the chat continues without the turn.
	working, accepting lifetime
}

// people are the part of a turn that waits for people: their answers, and messages that they send
// while it runs.
type people struct {
	*facts
	injections injections
	personWait personWait

	askedMu sync.Mutex
	asked   map[[2]string]int // how often this attempt has asked a question
}

// output is the part of a turn that shows and stores what its agent says.
type output struct {
	*facts
	tracer                   *tracer
	outputBytes, outputMedia atomic.Int64 // size of the agent's output, for the audit log
	unnotified               atomic.Bool  // the newest message that should notify people was an edit, which does not

	mu            sync.Mutex
	sequence      int    // of the turn's latest message
	caption       string // of the screen that was shown last
	heading       string // above all progress; "": none
	lateCopyBytes int64  // bytes of files that may still be copied after the turn was told to end
}

// lifetime is a context that can be cancelled before it is created.
type lifetime struct {
	mu     sync.Mutex
	ended  bool
	cause  error
	cancel context.CancelCauseFunc
}

// start creates the context.
func (l *lifetime) start(parent context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	if l.cancel = cancel; l.ended {
		cancel(l.cause)
	}
	return ctx
}

// hasEnded reports whether end was called.
func (l *lifetime) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// causeOfEnd returns the cause with which end was called first; nil also if it was not called.
func (l *lifetime) causeOfEnd() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// end cancels the context. The first cause counts.
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

// Inbound returns the message that the turn works on.
func (t *facts) Inbound() store.Inbound { return t.inbound }

// Agent returns the name of the agent that works on the message.
func (t *facts) Agent() string { return t.agent }

// Controller returns the runner of the turn if its protocol can carry out commands itself, else
// nil. After a change of the settings, new turns have another runner.
func (t *Turn) Controller() terminal.Controller {
	c, _ := t.settings.Runner.(terminal.Controller)
	return c
}

// StartTime returns when the turn started.
func (t *facts) StartTime() time.Time { return t.started }

// PID returns the process ID of the agent, or 0.
func (t *Turn) PID() int { return int(t.pid.Load()) }

// AgentEnded reports whether the agent has ended and only the outcome is to be stored.
func (t *Turn) AgentEnded() bool { return t.agentEnded.Load() }

// Cancel ends the turn. The cause decides which message the chat gets.
func (t *Turn) Cancel(cause error) { t.working.end(cause) }

// MoveBoardDown is called when a person has written a message below the board.
func (t *Turn) MoveBoardDown() { t.display.MoveDown() }

// Drop releases the resources of a turn that will not run.
func (t *Turn) Drop() {
	t.working.end(nil)
	t.releaseRunner()
}

// Run works on the message and records the outcome. A turn that was told to stop and does not end
// is abandoned. untilKilled ends when the gateway no longer waits for turns.
func (t *Turn) Run(untilKilled context.Context) {
	untilKilled, t.kill = context.WithCancelCause(untilKilled)
	defer t.kill(nil)
	// The context of the work is a child of accepting: when the turn notices a shutdown, its output
	// is no longer accepted, so that it cannot post "Stopped." before it is retried.
	accepting := t.accepting.start(untilKilled)
	defer t.accepting.end(nil)
	ctx := t.working.start(accepting)
	defer t.working.end(nil)
	if t.secret != "" && !t.eraseText(untilKilled) {
		t.releaseRunner()
		return
	}
	if ok, err := t.senderAdmitted(untilKilled); !ok || err != nil {
		t.releaseRunner()
		if err == nil {
			t.rejectRevoked(untilKilled)
		}
		return
	}
	if !t.admittedByQuotas(untilKilled) {
		t.releaseRunner()
		return
	}
	t.auditStart()
	if t.ch == nil {
		t.releaseRunner()
		err := fmt.Errorf("channel %s is no longer enabled", t.inbound.In.Chat.Channel)
		t.finish(untilKilled, accepting, terminal.Outcome{Status: terminal.Failed}, err)
		return
	}
	if t.inbound.Asks {
		t.closePickers(untilKilled)
	}
	t.display.ReactToStart()
	stopDisplay := t.display.Start(untilKilled, ctx, accepting)
	t.info.start = t.display.OnDemand(func(sending context.Context) { t.info.run(sending, accepting) })
	t.reportReplacedAgent(accepting)
	out, err := t.runAgent(untilKilled, ctx, accepting)
	stopDisplay()
	if !t.wasCutOff(untilKilled, out, err) {
		status := out.Status
		if err != nil {
			status = terminal.Failed
		}
		t.fold = t.display.Finish(status)
	}
	t.agentEnded.Store(true)
	t.working.end(nil)
	t.slot.Release() // another agent can run while the outcome is stored
	t.finish(untilKilled, accepting, out, err)
	t.display.OutcomeStored()
}

// runAgent runs the agent and waits for its end, or abandons it.
func (t *Turn) runAgent(untilKilled, ctx, accepting context.Context) (terminal.Outcome, error) {
	running, end := context.WithCancel(ctx)
	chat := t.newChat(untilKilled, accepting, running, end)
	defer t.toolAccess.allow(chat, ctx.Done())()
	type result struct {
		out terminal.Outcome
		err error
	}
	ended := make(chan result, 1)
	go func() {
		tasks.GrowStack()
		defer t.releaseRunner()
		defer end()
		out, err := t.runWithRetries(ctx, chat)
		ended <- result{out, err}
	}()
	select {
	case r := <-ended:
		return r.out, r.err
	case <-ctx.Done():
	}
	if untilKilled.Err() == nil {
		defer t.display.ShowStoppingLater()()
	}
	select {
	case r := <-ended:
		return r.out, r.err
	case <-time.After(t.stage.o.AbandonAfter):
		t.abandon(untilKilled)
		return terminal.Outcome{Status: terminal.Stopped}, nil
	}
}

// abandon lets the chat continue without a turn that was told to stop and does not end.
func (t *Turn) abandon(untilKilled context.Context) {
	t.accepting.end(ErrStopped)
	t.log.Error("turn does not end, the chat continues without it")
	if t.revoked.Load() || t.lost.Load() {
		return
	}
	notice := &outbox.Message{Message: channels.Message{
		Chat: t.inbound.In.Chat, Kind: channels.Answer, Text: t.words.Text(words.StoppedLate), ReplyTo: t.inbound.In.ID,
		Language: t.inbound.In.User.Language,
	}}
	t.stage.display.Go(func(context.Context) {
		if err := t.stage.o.Outbox.Post(untilKilled, notice); err != nil {
			t.log.Warn("chat not notified", zap.Error(err))
		}
	})
}

// isFenced reports whether an error says that another member has the turn's message now. It then
// cuts the turn off, and leaves the rest of the work, and what is shown of it, to the other member.
func (t *facts) isFenced(err error) bool {
	if !errors.Is(err, store.ErrFenced) {
		return false
	}
	if !t.lost.Swap(true) {
		t.log.Info("another member has the turn, it ends here", zap.Error(err))
		t.display.Leave()
		t.kill(store.ErrFenced)
	}
	return true
}

// wasCutOff reports whether a shutdown, or another member, has ended the turn.
func (t *facts) wasCutOff(untilKilled context.Context, out terminal.Outcome, err error) bool {
	return t.lost.Load() || untilKilled.Err() != nil && (err != nil || out.Status == terminal.Stopped)
}

// finish records the outcome, and tells the chat if the agent could not be run.
func (t *Turn) finish(untilKilled, accepting context.Context, out terminal.Outcome, err error) {
	lasted := time.Since(t.started)
	took := zap.Duration("took", lasted)
	cut := t.wasCutOff(untilKilled, out, err)
	t.auditEnd(out, err, cut, lasted)
	if cut && !t.lost.Load() {
		t.log.Warn("turn cut off by shutdown", took)
		if t.aside.Load() && t.working.causeOfEnd() == nil { // nobody had told it to end before
			t.requeueTurn(untilKilled)
		}
	}
	if cut {
		return // the turn stays running on disk, for the next start to find
	}
	if t.wasRevoked(untilKilled) {
		t.log.Info("turn ended", zap.String("status", store.Revoked), took)
		t.injections.close() // messages injected by others get turns of their own
		out.Status = store.Revoked
		t.storeOutcome(untilKilled, store.Done, t.storedOutcome(out))
		return
	}
	read := t.injections.closeAndListRead(out.Unread)
	if err != nil {
		t.log.Error("turn failed", took, zap.Error(err))
		out.Status = terminal.Failed
		t.reportFailure(accepting)
	} else {
		t.log.Info("turn ended", zap.String("status", string(out.Status)), zap.Int("exit", out.ExitCode),
			zap.String("signal", out.Signal), took)
	}
	if out.Status != terminal.Stopped { // by a person, who is still looking
		t.postDone(accepting)
	}
	t.storeOutcome(untilKilled, store.Done, t.storedOutcome(out), read...)
}

// reportFailure tells the chat that the agent could not be run.
func (out *output) reportFailure(accepting context.Context) {
	if out.ch == nil || out.inbound.In.Quiet {
		return
	}
	sequence := outbox.ReportSequence + out.inbound.Attempt // it is the answer to the message
	if err := out.postMessage(accepting, CouldNotRunMessage(out.words), sequence); err != nil {
		out.log.Warn("chat not notified", zap.Error(err))
	}
}

// CouldNotRunMessage is the message to the chat when the agent could not be run.
func CouldNotRunMessage(w words.Words) channels.Message {
	return channels.Message{
		Kind: channels.Failure, Code: "GATEWAY", Text: w.Text(words.CouldNotRun),
	}
}

// storedOutcome returns the outcome of the turn in its stored form.
func (t *Turn) storedOutcome(out terminal.Outcome) store.Outcome {
	return store.Outcome{
		Agent: t.agent, Status: string(out.Status), ExitCode: out.ExitCode, Signal: out.Signal, Memory: out.Memory,
		CPU: out.CPU, Trace: t.tracer.encode(out.Stderr),
		Fold: t.fold, Usage: t.usage.used(t.elapsed()),
	}
}

// storeOutcome stores the outcome of the turn. It retries until the gateway shuts down. read are
// the injected messages that the agent has read; they end with the turn.
func (t *Turn) storeOutcome(untilKilled context.Context, state store.State, o store.Outcome, read ...int64) {
	ctx, took := context.WithoutCancel(untilKilled), time.Since(t.started)
	o.Keeps = t.stage.o.Keeps != nil && t.stage.o.Keeps(t.inbound.In.Chat)
	var left []store.Question // by an attempt before a crash; this one has closed its own
	if t.inbound.Attempt > 1 {
		left = t.stage.unansweredQuestions(ctx, t.inbound)
	}
	_ = retry.Until(untilKilled, func() error { // otherwise the turn stays running on disk, for the next start to find
		next, err := t.stage.o.Store.Finish(ctx, t.inbound.ID, state, o, read...)
		if next {
			t.stage.o.Wake()
		}
		if err == nil {
			t.stage.removeButtons(t.inbound, left)
		}
		if t.isFenced(err) || errors.Is(err, store.ErrState) {
			return nil // it has ended already
		}
		return err
	}, func(err error) { t.log.Error("outcome of turn not stored, will retry", zap.Error(err)) })
	if t.lost.Load() {
		return
	}
	t.display.ReactToEnd(terminal.Status(o.Status))
	t.stage.o.Events.Report(events.Event{
		Type: events.Ended, Chat: t.inbound.In.Chat, Inbound: t.inbound.ID,
		Origin: t.inbound.In.Origin, Agent: t.agent, Status: o.Status, Took: took, Used: usedEvent(o.Usage),
	})
}
