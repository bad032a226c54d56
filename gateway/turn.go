package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/intake"
	"nanobot/gateway/lanes"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// The reasons for which a turn is ended early.
var (
	errStopped     = errors.New("stopped by the user")
	errInterrupted = errors.New("interrupted by a new message")
)

// turn is one item worked on by the agent.
type turn struct {
	g     *Gateway
	set   *Settings
	item  store.Item
	ch    channels.Channel
	log   *zap.Logger
	began time.Time
	done  func() // to be called when the agent has ended

	ctx    context.Context
	cancel context.CancelCauseFunc
	inject injections
	bubble *bubble
	live   *live
	pace   pacing
	memory *memory
	about  *about
	tracer *tracer
	pid    atomic.Int64
	// failures is how many agents could not be started for want of resources when this one was. pid orders it.
	failures int

	saidBytes, saidMedia atomic.Int64 // what the agent said, for the audit

	// listening ends when nothing that the turn says is taken any more: we shut down, or the chat goes on without it.
	listening context.Context
	leave     context.CancelCauseFunc

	// running ends when the turn is told to end or its time is up. What is printed by then is still delivered, with files up to late bytes.
	running context.Context
	end     context.CancelFunc
	late    int64

	asks  sync.Mutex
	asked map[[2]string]int // how often this run has asked a question

	slot    *lanes.Slot
	short   atomic.Bool // the person was told that the turn waits for resources
	revoked atomic.Bool // the sender has lost access

	over  atomic.Bool // the agent has ended and only the books are to be closed
	mu    sync.Mutex
	place int
}

func (g *Gateway) newTurn(item store.Item, slot *lanes.Slot) *turn {
	defer g.tell(events.Event{What: events.Started, Chat: item.In.Chat, Item: item.ID})
	t := &turn{
		g: g, item: item, slot: slot, ch: g.o.Channels[item.In.Chat.Channel], began: time.Now(),
		log: g.o.Log.With(zap.Stringer("chat", item.In.Chat), zap.Int64("run", item.ID)),
	}
	t.done = g.runners.use(func() *terminal.Runner {
		t.set = g.set()
		return t.set.Runner
	})
	t.ctx, t.cancel = context.WithCancelCause(g.killed)
	t.listening, t.leave = context.WithCancelCause(g.killed)
	t.running, t.end = context.WithCancel(t.ctx)
	t.late = lateBytes
	if t.set.WhileRunning == intake.Inject {
		t.inject.lines = make(chan terminal.Injection, mostInjected)
	}
	if g.o.Watch != nil {
		t.tracer = &tracer{}
	}
	t.bubble, t.live = newBubble(t), newLive(t)
	t.memory = &memory{g: g, chat: item.In.Chat}
	t.about = &about{t: t, wake: make(chan struct{}, 1)}
	return t
}

// Over reports whether the agent has ended and only the books are to be closed.
func (t *turn) Over() bool { return t.over.Load() }

// Run works on the item and records how it ended. A turn that was told to stop and does not is left behind.
func (t *turn) Run(context.Context) {
	defer t.cancel(nil)
	defer t.leave(nil)
	defer t.end()
	if ok, err := t.admitted(); !ok || err != nil {
		t.done()
		if err == nil {
			t.dismiss()
		}
		return
	}
	t.auditStart()
	if t.ch == nil {
		t.done()
		t.finish(terminal.Outcome{Status: terminal.Failed}, fmt.Errorf("channel %s is not enabled any more", t.item.In.Chat.Channel))
		return
	}
	type end struct {
		out terminal.Outcome
		err error
	}
	ended := make(chan end, 1)
	if typer, ok := t.ch.(channels.Typer); ok {
		t.g.showing.Go(func() { t.typing(typer) })
	}
	go func() {
		defer t.done()
		out, err := t.work()
		ended <- end{out, err}
	}()
	var e end
	select {
	case e = <-ended:
	case <-t.ctx.Done():
		select {
		case e = <-ended:
		case <-time.After(t.g.o.AbandonAfter):
			t.abandon()
			e.out.Status = terminal.Stopped
		}
	}
	t.over.Store(true)
	t.cancel(nil)
	t.finish(e.out, e.err)
}

// abandon lets the chat go on without a turn that was told to stop and does not.
func (t *turn) abandon() {
	t.leave(errStopped)
	t.log.Error("turn does not end, the chat goes on without it")
	if t.revoked.Load() {
		return
	}
	t.g.showing.Go(func() {
		if err := t.g.note(t.g.killed, t.item.In, "Stopped. It did not end by itself, so I went on without it."); err != nil {
			t.log.Warn("chat not told", zap.Error(err))
		}
	})
}

// attempt runs the agent, if it can be started. A panic is this turn's failure and nobody else's.
func (t *turn) attempt() (out terminal.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	t.recordProcess(terminal.RecordStarting())
	req := request(t.item.In, strconv.FormatInt(t.item.ID, 10))
	req.Attempt = t.item.Attempt
	req.OnLaunch, req.RunName, req.GatewayName = t.launched, runName(t.item), t.g.kept
	req.Memory, req.OnAbout = t.memory, t.about.tell
	req.Ask = t.ask
	req.OnLog = t.logged
	req.Written, req.OnEnd = t.written, t.end
	if t.inject.lines != nil {
		req.Inject = t.inject.lines
	}
	if t.set.PassHistory > 0 {
		if req.History, err = t.history(); err != nil {
			return out, err
		}
	}
	return t.set.Runner.Turn(t.ctx, req, t.emit)
}

func (t *turn) history() ([]terminal.HistoryEntry, error) {
	// A turn that is stopped while this is read is stopped by the runner, which says so.
	entries, err := t.g.o.Store.History(context.WithoutCancel(t.ctx), t.item.In.Chat, t.set.PassHistory, t.item.ID)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []terminal.HistoryEntry
	for _, e := range entries {
		out = append(out, terminal.HistoryEntry{Role: e.Role, Text: e.Text, Media: e.Media, Time: e.Time})
	}
	return out, nil
}

// launched records the agent's process.
func (t *turn) launched(pid int) {
	t.failures = t.g.shortage.count()
	t.pid.Store(int64(pid))
	t.recordProcess(terminal.RecordProcess(pid))
	if t.short.Load() {
		t.bubble.show("Working…")
	}
}

// recordProcess stores the agent's process, so that a later gateway can kill what this one leaves
// behind: when we die the kernel kills only the agent itself, and not what it started. A process
// that is about to start is recorded too: a turn without any had not begun.
func (t *turn) recordProcess(p terminal.ProcessRecord) {
	if err := t.g.o.Store.SetProcess(t.item.ID, store.Process(p)); err != nil {
		t.log.Warn("agent's process not noted", zap.Error(err))
	}
}

// emit takes what the agent says. It works after the turn was told to stop, since what was printed is still delivered, but not when the
// gateway shuts down: then the whole turn is done again or reported.
func (t *turn) emit(f terminal.Frame) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.Kind != terminal.Partial { // which the message says again
		t.seen(f)
		t.saidBytes.Add(int64(len(f.Text)))
		t.saidMedia.Add(int64(len(f.Checked)))
	}
	switch {
	case t.listening.Err() != nil:
		return context.Cause(t.listening)
	case f.Kind == terminal.Partial:
		t.live.show(f.Text)
		return nil
	case f.Kind == terminal.Progress && t.set.Progress == HideProgress:
		return nil
	case f.Kind == terminal.Progress && (t.bubble.show(f.Text) || f.Board):
		return nil
	}
	t.place++
	if f.Kind == terminal.Message {
		return t.complete(message(f))
	}
	return t.say(message(f), t.place)
}

// complete says a message of which the beginning may be shown already.
func (t *turn) complete(m channels.Message) error {
	places, rest := t.live.take()
	d := outbox.Reply(t.item, m)
	d.Place, d.Replace = t.place, places
	err := t.post(d)
	if err == nil {
		rest = append(rest, d.Unused()...)
		t.bubble.bury()
	}
	for _, id := range rest { // what is left of the others is removed when the turn ends
		t.g.outbox.Remove(t.bubbleOf(id))
	}
	return err
}

// logged takes what the agent or its protocol says to the log.
func (t *turn) logged(f terminal.Frame) {
	if f.Audit {
		t.auditDecision(f.Text)
	}
	if t.tracer != nil {
		t.seen(f)
	}
}

// seen keeps a frame for those who watch.
func (t *turn) seen(f terminal.Frame) {
	t.tracer.add(f)
	t.g.tell(events.Event{What: events.Said, Chat: t.item.In.Chat, Item: t.item.ID})
}

// say sends a message of this turn. What the store cannot take now, for want of room perhaps, is tried until it can: the agent's
// words would be lost otherwise, and nobody could be told.
func (t *turn) say(m channels.Message, place int) error {
	d := outbox.Reply(t.item, m)
	d.Place = place
	return t.post(d)
}

// lateBytes is how much of a turn's files is copied after it was told to end: enough for the pictures that were just printed, and not so
// much that anybody notices.
const lateBytes = 64 << 20

// copying returns the context of a copy: a small file is copied to its end, a large one only while the turn runs. Like copied, which
// counts the copies, it is called with t.mu.
func (t *turn) copying(size int64) context.Context {
	if size > t.late {
		return t.running
	}
	return t.listening
}

func (t *turn) copied(size int64) {
	if t.running.Err() != nil {
		t.late -= size
	}
}

func (t *turn) post(d *outbox.Message) error {
	d.CopyContext, d.Copied = t.copying, t.copied
	var refused error // for good
	err := retry.Until(t.listening, func() error {
		err := t.g.outbox.Post(t.listening, d)
		if err != nil && !errors.Is(err, outbox.ErrNotStored) {
			refused, err = err, nil
		}
		return err
	}, func(err error) { t.log.Error("answer not stored, will retry", zap.Error(err)) })
	if err != nil {
		return err
	}
	return refused
}

// cutOff tells whether it was our end that ended the turn.
func (t *turn) cutOff(out terminal.Outcome, err error) bool {
	return t.g.killed.Err() != nil && (err != nil || out.Status == terminal.Stopped)
}

// finish records the end. When we could not run the agent, the chat is told.
func (t *turn) finish(out terminal.Outcome, err error) {
	lasted := time.Since(t.began)
	took := zap.Duration("took", lasted)
	t.auditEnd(out, err, lasted)
	if t.cutOff(out, err) {
		t.log.Warn("turn cut off by shutdown", took)
		return // it stays running on disk, for the next start to find
	}
	if t.wasRevoked() {
		t.log.Info("turn ended", zap.String("status", store.Revoked), took)
		t.endRevoked(out)
		return
	}
	read := t.injected(out.Unread)
	if err != nil {
		t.log.Error("turn broke", took, zap.Error(err))
		out.Status = terminal.Failed
		if t.ch != nil {
			sorry := channels.Message{Kind: channels.Failure, Code: "GATEWAY", Text: "Sorry, the agent could not be run. The operator can see in the log why."}
			if serr := t.say(sorry, 0); serr != nil {
				t.log.Warn("chat not told", zap.Error(serr))
			}
		}
	} else {
		t.log.Info("turn ended", zap.String("status", string(out.Status)), zap.Int("exit", out.ExitCode), zap.String("signal", out.Signal), took)
	}
	o := store.Outcome{Status: string(out.Status), ExitCode: out.ExitCode, Signal: out.Signal, Memory: out.Memory, CPU: out.CPU, Trace: t.tracer.text(out.Stderr)}
	t.record(store.Done, o, read...)
}

// typing shows that the agent is at work, if that takes more than a moment. Networks show it for some five seconds.
func (t *turn) typing(typer channels.Typer) {
	for wait := 300 * time.Millisecond; retry.Sleep(t.ctx, wait); wait = 4 * time.Second {
		if err := typer.Typing(t.ctx, t.item.In.Chat); err != nil && t.ctx.Err() == nil {
			t.log.Debug("typing not shown", zap.Error(err))
		}
	}
}
