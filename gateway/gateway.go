// Package gateway carries messages from the channels to the agents and their answers back. It
// composes the stages that do so: intake, lanes, turn and outbox. It never learns a channel's or a
// protocol's name: what differs between them is behind their contracts.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/intake"
	"nanobot/gateway/lanes"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/runbook"
	"nanobot/gateway/runbook/chatrun"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// Settings are what may change while the gateway runs.
type Settings struct {
	// Agents are the agents by name, with store.DefaultAgent among them.
	Agents map[string]Agent
	// AllowFrom lists by channel whose messages are taken; * is everybody. A channel that is not in
	// it has no access control.
	AllowFrom     map[string][]string
	WhileRunning  intake.WhileRunning
	QueueLimit    int
	RatePerMinute int
	OnCrash       turn.OnCrash
	AtMostOnce    bool // which way to err when the outcome of a send is unknown
	DrainTimeout  time.Duration
	Runbooks      Runbooks
}

// Runbooks is what the settings say about runbooks.
type Runbooks struct {
	Folder string
	// Approvers are the people (channel:userid) who may decide in runs; none: all.
	Approvers []string
	// CheckShell has the command of a shell step executed again that an agent says to have
	// succeeded.
	CheckShell bool
}

// Agent is what the settings say about one agent.
type Agent struct {
	Runner      *terminal.Runner
	Progress    turn.Progress
	PassHistory int
	// Injectable says that the protocol takes messages while the agent runs, which is used if
	// Settings.WhileRunning says so.
	Injectable bool
	// Approvers are the people (channel:userid) who may permit what the agent asks for; none: all
	// who may talk to the bot.
	Approvers []string
	Launch    audit.Launch // how Runner starts the agent, for Options.Audit
}

// Options is what a gateway is made of.
type Options struct {
	Channels      map[string]channels.Channel
	Store         store.Store
	MaxConcurrent int
	Settings      Settings
	Log           *zap.Logger
	// AbandonAfter is how long a turn that was told to stop may take before its chat goes on
	// without it. 0 is fifteen seconds, which is longer than an agent that does not obey takes to
	// be killed: one that is kept is given ten seconds.
	AbandonAfter time.Duration
	// NotifyAfter is how long ago the beginning of an answer may have been shown for its end to be
	// an edit of that, which nobody is notified of. Later it is a new message. 0 is twenty seconds.
	NotifyAfter time.Duration
	// Watch, if not nil, is told what happens, from many goroutines. It must not block. Turns are
	// then traced, too.
	Watch events.Func
	Audit audit.Func // who started what
}

// Gateway carries messages from its channels to the agent and back and loses none of them: what is
// received is on disk before it is acknowledged, what is to be sent is on disk before it is sent.
type Gateway struct {
	o        Options
	settings atomic.Pointer[applied]
	intake   *intake.Intake
	lanes    *lanes.Lanes[*turn.Turn]
	turns    *turn.Stage
	outbox   *outbox.Outbox
	runbooks *chatrun.Runbooks
	rates    toolRates

	mu     sync.Mutex
	health map[string]ChannelHealth
	gone   map[string]bool // channels whose loop has ended too early
}

// errShutdown is the cause by which turns end that outlast the drain.
var errShutdown = errors.New("the gateway shuts down")

// New returns a gateway. Run does the work.
func New(o Options) *Gateway {
	if o.AbandonAfter == 0 {
		o.AbandonAfter = 15 * time.Second
	}
	if o.NotifyAfter == 0 {
		o.NotifyAfter = 20 * time.Second
	}
	g := &Gateway{
		o: o, rates: newToolRates(),
		health: map[string]ChannelHealth{}, gone: map[string]bool{},
	}
	for name, ch := range o.Channels {
		if r, ok := ch.(channels.Rememberer); ok {
			r.Remember(channelMemory{o.Store, name})
		}
	}
	g.outbox = outbox.New(outbox.Options{
		Store: o.Store, Channels: o.Channels, AtMostOnce: func() bool { return g.set().AtMostOnce }, Log: o.Log, Events: o.Watch,
	})
	g.runbooks = chatrun.New(chatrun.Options{
		Runs: runbook.Runs{Records: o.Store}, Folder: func() runbook.Folder { return runbook.Folder(g.set().Runbooks.Folder) },
		Questions: o.Store, Outbox: g.outbox, Log: o.Log,
	})
	g.turns = turn.New(turn.Options{
		Channels: o.Channels, Store: o.Store, Outbox: g.outbox, Executor: g.runbooks,
		Admits: func(ctx context.Context, channel, user string) (bool, error) {
			return g.intake.Admits(ctx, channel, user)
		},
		Wake: func() { g.lanes.Wake() }, Menu: func(agent string, a terminal.AgentInfo) []channels.Command { return g.intake.AgentCommands(agent, a) },
		IsChosen: func(ctx context.Context, chat channels.Chat, agent string) (bool, error) {
			now, err := g.intake.NextAgent(ctx, chat)
			return now == agent, err
		},
		OfferQueue:   func(ctx context.Context, chat channels.Chat) error { return g.intake.OfferQueue(ctx, chat) },
		AbandonAfter: o.AbandonAfter, NotifyAfter: o.NotifyAfter, Events: o.Watch, Audit: o.Audit, Log: o.Log,
	})
	begin := func(inbound store.Inbound, slot *lanes.Slot) *turn.Turn { return g.turns.NewTurn(inbound, slot) }
	g.lanes = lanes.New(lanes.Options[*turn.Turn]{Slots: o.MaxConcurrent, Store: o.Store, NewTurn: begin, Log: o.Log})
	g.intake = intake.New(intake.Options{
		Channels: o.Channels, Store: o.Store, Lanes: chatLanes{g.lanes}, Outbox: g.outbox, Settings: func() intake.Settings { return g.settings.Load().intake },
		AgentInfo: g.about, AgentChanged: g.turns.AgentChanged, Answered: g.turns.Answer, Stopped: turn.ErrStopped, Interrupted: turn.ErrInterrupted,
		Runbooks: g.runbooks,
		Events:   o.Watch, Audit: o.Audit, Log: o.Log,
	})
	g.Reload(o.Settings)
	return g
}

// Reload changes the settings. Turns that run keep those they began with; when the last of them has
// ended, their runners are closed. It is for one goroutine.
func (g *Gateway) Reload(s Settings) {
	g.settings.Store(&applied{s, intakeSettings(s)}) // before the last runner is closed, which nobody must find then
	g.turns.Reload(turnSettings(s))
	g.intake.RecheckAccess()
}

// applied are settings, and those of intake that follow from them.
type applied struct {
	Settings
	intake intake.Settings
}

func (g *Gateway) set() *Settings { return &g.settings.Load().Settings }

// intakeSettings are the settings of intake.
func intakeSettings(s Settings) intake.Settings {
	set := intake.Settings{
		AllowFrom: s.AllowFrom, WhileRunning: s.WhileRunning, QueueLimit: s.QueueLimit, RatePerMinute: s.RatePerMinute, Agents: map[string]intake.Agent{},
		RunApprovers: s.Runbooks.Approvers,
	}
	for name, agent := range s.Agents {
		set.Agents[name] = intake.Agent{Runner: agent.Runner, Injectable: agent.Injectable, Approvers: agent.Approvers}
	}
	return set
}

// turnSettings are the settings of turns.
func turnSettings(s Settings) turn.Settings {
	t := turn.Settings{OnCrash: s.OnCrash, Agents: map[string]turn.AgentSettings{}}
	for name, agent := range s.Agents {
		t.Agents[name] = turn.AgentSettings{
			Runner: agent.Runner, Progress: agent.Progress, PassHistory: agent.PassHistory,
			Inject: agent.Injectable && s.WhileRunning == intake.Inject, Launch: agent.Launch,
		}
	}
	return t
}

// about is what an agent told of itself in a chat last.
func (g *Gateway) about(ctx context.Context, chat channels.Chat, agent string) (terminal.AgentInfo, error) {
	if t, ok := g.lanes.RunningTurn(chat); ok && t.Agent() == agent {
		if now, ok := t.AgentInfo(); ok {
			return now, nil
		}
	}
	return g.turns.StoredAgentInfo(ctx, chat, agent)
}

// Knows reports whether a person may talk to the bot, so that a channel need not go to any length
// for others. When that cannot be found out, they may not.
func (g *Gateway) Knows(channel, user string) bool {
	ok, err := g.intake.Admits(context.Background(), channel, user)
	return ok && err == nil
}

// Run works until ctx ends, then drains: nothing is received any more, turns may end within
// DrainTimeout, what is left is killed and stays on disk for the next start. When the cause of
// ctx's end is store.ErrUnusable, turns are killed at once. ready, if not nil, is called when the
// past is cleaned up and the channels are about to run.
func (g *Gateway) Run(ctx context.Context, ready func()) error {
	// killed ends when turns must not be waited for any longer.
	killed, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), store.ErrUnusable) { // what turns say could not be stored
			kill(errShutdown)
		}
	})()
	defer g.turns.Close()
	// Sends outlive the intake: what turns say while they drain is still delivered.
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	var sends sync.WaitGroup
	sends.Go(func() { g.outbox.Run(sending) })
	sends.Go(func() { g.turns.Run(sending) })
	sends.Go(func() { g.intake.RunControls(sending) })
	defer sends.Wait()
	defer stopSending()
	if !g.recover(ctx) {
		return nil // told to end before it began
	}
	for name := range g.o.Channels {
		g.channelIs(name, nil)
	}
	if ready != nil {
		ready()
	}
	// Access is watched as long as turns run, also while they drain.
	watching, unwatch := context.WithCancel(killed)
	var background sync.WaitGroup
	background.Go(func() { g.intake.WatchRevoked(watching) })
	defer background.Wait()
	defer unwatch()
	working, endWork := context.WithCancel(killed)
	background.Go(func() { g.lanes.Run(ctx, working) })
	defer endWork()
	var work errgroup.Group
	work.Go(func() error {
		err := retry.Until(ctx, func() error { return g.intake.DismissUnadmitted(ctx) }, func(err error) {
			g.o.Log.Error("cannot look for revoked access, will retry", zap.Error(err))
		})
		if err != nil {
			return nil //nolint:nilerr // told to end
		}
		return g.outbox.Resume(ctx)
	})
	work.Go(func() error { return g.intake.WelcomeAdmitted(ctx) })
	work.Go(func() error { return g.prune(ctx) })
	for name, ch := range g.o.Channels {
		work.Go(func() error { return g.listen(ctx, name, ch) })
	}
	err := work.Wait()
	g.turns.EndPersonWaits()
	patience := time.AfterFunc(g.set().DrainTimeout, func() { kill(errShutdown) })
	defer patience.Stop()
	g.drain(killed)
	return err
}

// recover cleans up what an earlier run has left: its agents are killed, its sends resolved, its
// turns reported or run again. Everything else that is pending enters the same lanes as what comes
// in. It reports false when ctx ends before that is done.
func (g *Gateway) recover(ctx context.Context) bool {
	var adopted store.Adopted
	// A step that is done is not done again: what a later one sends is not from the earlier run.
	for _, step := range []func() error{
		func() (err error) { adopted, err = g.o.Store.Adopt(ctx); return err },
		func() error { return g.turns.KillLeftover(ctx, adopted.Inbounds) },
		func() error { return g.outbox.Recover(ctx, adopted) },
		func() error { return g.turns.Recover(ctx, adopted.Inbounds) },
	} {
		err := retry.Until(ctx, step, func(err error) {
			if ctx.Err() == nil {
				g.o.Log.Error("cannot clean up after the last run, will retry", zap.Error(err))
			}
		})
		if err != nil {
			return false
		}
	}
	return true
}

// drain waits for turns, and for what they said to be sent, until ctx ends.
func (g *Gateway) drain(ctx context.Context) {
	g.lanes.WaitForTurns()
	g.intake.IdleControls(ctx)
	g.turns.Idle(ctx)
	g.outbox.Idle(ctx)
}

// listen runs a channel for as long as the gateway runs. One that fails is tried again, and
// disturbs no other.
func (g *Gateway) listen(ctx context.Context, name string, ch channels.Channel) error {
	defer g.leave(ctx, name)
	if r, ok := ch.(channels.Resumer); ok {
		for {
			cursor, err := g.o.Store.Cursor(ctx, name)
			if err == nil {
				r.Resume(cursor)
				break
			}
			g.o.Log.Error("cannot read the cursor, will retry", zap.String("channel", name), zap.Error(err))
			if !retry.Sleep(ctx, time.Second) {
				return nil
			}
		}
	}
	if k, ok := ch.(channels.CursorKeeper); ok {
		k.KeepCursor(func(ctx context.Context, cursor string) error { return g.o.Store.SetCursor(ctx, name, cursor) })
	}
	if m, ok := ch.(channels.Menu); ok {
		m.SetMenu(g.intake.Menu())
	}
	pause := backoff.NewExponentialBackOff()
	for {
		began := time.Now()
		g.channelIs(name, nil)
		err := g.runChannel(ctx, ch)
		if ctx.Err() != nil {
			return nil // it ended because it was told to
		}
		if time.Since(began) > time.Minute {
			pause.Reset()
		}
		wait := pause.NextBackOff()
		g.channelIs(name, err)
		g.o.Log.Error("channel failed, will retry", zap.String("channel", name), zap.Duration("after", wait), zap.Error(err))
		if !retry.Sleep(ctx, wait) {
			return nil
		}
	}
}

func (g *Gateway) runChannel(ctx context.Context, ch channels.Channel) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return ch.Run(ctx, g.intake.Receive)
}

// retention is how long finished rows are kept: /status and the transcript look back this far.
var retention = store.Retention{Age: 30 * 24 * time.Hour, Count: 100_000}

func (g *Gateway) prune(ctx context.Context) error {
	for retry.Sleep(ctx, time.Hour) {
		g.intake.ResetRefusalLog()
		if err := g.o.Store.Prune(ctx, retention); err != nil && ctx.Err() == nil {
			g.o.Log.Warn("prune failed", zap.Error(err))
		}
		if err := (runbook.Runs{Records: g.o.Store}).PruneAgentRuns(ctx, retention.Age); err != nil && ctx.Err() == nil {
			g.o.Log.Warn("runs of agents not pruned", zap.Error(err))
		}
	}
	return nil
}
