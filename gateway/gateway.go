// Package gateway carries messages from the channels to the agents and the answers back. It
// composes the stages intake, lanes, turn and outbox. It does not know the names of channels and
// protocols: their differences are behind their contracts.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Settings may change while the gateway runs.
type Settings struct {
	// Agents are the agents by name, including store.DefaultAgent.
	Agents map[string]Agent
	// AllowFrom lists the admitted people by channel; * admits everybody. A channel that is missing
	// has no access control.
	AllowFrom     map[string][]string
	WhileRunning  intake.WhileRunning
	QueueLimit    int
	RatePerMinute int
	Gather        time.Duration // see intake.Settings
	OnCrash       turn.OnCrash
	AtMostOnce    bool // do not repeat a send with an unknown outcome
	DrainTimeout  time.Duration
	Runbooks      Runbooks
	Words         words.Settings
}

// Runbooks are the settings of runbooks.
type Runbooks struct {
	Folder string
	// Approvers are the people (channel:userid) who may decide in runs; empty: everybody.
	Approvers []string
	// CheckShell has the command of a shell step executed again after an agent reports its success.
	CheckShell bool
}

// Agent is the settings of one agent.
type Agent struct {
	Runner      *terminal.Runner
	Progress    turn.Progress
	PassHistory int
	// Injectable says that the protocol accepts messages while the agent runs. It has an effect
	// only if Settings.WhileRunning is intake.Inject.
	Injectable bool
	// Approvers are the people (channel:userid) who may grant permissions to the agent; empty:
	// everybody with access.
	Approvers []string
	Launch    audit.Launch // how Runner starts the agent, for Options.Audit
}

// Options configures a Gateway.
type Options struct {
	Channels      map[string]channels.Channel
	Store         store.Store
	MaxConcurrent int
	Settings      Settings
	// Words has the texts for people; nil means a catalogue of this gateway. Reload changes it.
	Words *words.Catalogue
	Log   *zap.Logger
	// AbandonAfter is how long a turn that was told to stop may take before its chat continues
	// without it. 0 means 15 seconds, which is longer than killing an agent takes: a persistent
	// agent has ten seconds to end by itself.
	AbandonAfter time.Duration
	// BoardDelay is how long a turn runs before it has a board, also without a progress frame. 0
	// means three seconds.
	BoardDelay time.Duration
	// NoticeDelay is how long a message waits for its turn before its sender is told. 0 means 2
	// seconds.
	NoticeDelay time.Duration
	// Events, if not nil, observes the gateway, from many goroutines. It must not block. Turns are
	// traced only if it is set.
	Events events.Func
	Audit  audit.Func // records who started which agent
}

// Gateway carries messages between channels and agents and loses none: incoming messages are on
// disk before they are acknowledged, outgoing messages before they are sent.
type Gateway struct {
	o        Options
	settings atomic.Pointer[appliedSettings]
	intake   *intake.Intake
	lanes    *lanes.Lanes[*turn.Turn]
	turns    *turn.Stage
	outbox   *outbox.Outbox
	runbooks *chatrun.Runbooks
	rates    toolRates
	words    *words.Catalogue

	mu         sync.Mutex
	health     map[string]ChannelHealth
	endedLoops map[string]bool // channels whose loop has ended too early
}

// errShutdown is the cause with which turns end that outlast DrainTimeout.
var errShutdown = errors.New("the gateway is shutting down")

// New returns a gateway that does nothing before Run.
func New(o Options) *Gateway {
	if o.AbandonAfter == 0 {
		o.AbandonAfter = 15 * time.Second
	}
	if o.Words == nil {
		o.Words = words.New(o.Settings.Words)
	}
	g := &Gateway{
		o: o, rates: newToolRates(), words: o.Words,
		health: map[string]ChannelHealth{}, endedLoops: map[string]bool{},
	}
	for name, ch := range o.Channels {
		if r, ok := ch.(channels.MemoryUser); ok {
			r.SetMemory(channelMemory{o.Store, name})
		}
		if u, ok := ch.(channels.WordsUser); ok {
			u.SetWords(g.words)
		}
	}
	g.outbox = outbox.New(outbox.Options{
		Words: g.words, Store: o.Store, Channels: o.Channels, AtMostOnce: func() bool { return g.currentSettings().AtMostOnce }, Log: o.Log, Events: o.Events,
	})
	g.runbooks = chatrun.New(chatrun.Options{
		Words: g.words,
		Runs:  runbook.Runs{Records: o.Store}, Folder: func() runbook.Folder { return runbook.Folder(g.currentSettings().Runbooks.Folder) },
		Questions: o.Store, Outbox: g.outbox, Log: o.Log,
	})
	g.turns = turn.New(turn.Options{
		Channels: o.Channels, Store: o.Store, Outbox: g.outbox, Executor: g.runbooks,
		Admits: func(ctx context.Context, channel, user string) (bool, error) {
			return g.intake.Admits(ctx, channel, user)
		},
		SessionAccess: func(ctx context.Context, in channels.Incoming, agent string) (terminal.SessionAccess, error) {
			return g.intake.SessionAccess(ctx, in, agent)
		},
		Wake: func() { g.lanes.Wake() }, Menu: func(agent string, a terminal.AgentInfo) []channels.Command { return g.intake.AgentCommands(agent, a) },
		IsChosen: func(ctx context.Context, chat channels.Chat, agent string) (bool, error) {
			now, err := g.intake.NextAgent(ctx, chat)
			return now == agent, err
		},
		Words:           g.words,
		MayPush:         g.mayPush,
		AnnounceWaiting: func(inbound store.Inbound) { g.intake.AnnounceWaiting(inbound) },
		OfferQueue:      func(ctx context.Context, chat channels.Chat) error { return g.intake.OfferQueue(ctx, chat) },
		AbandonAfter:    o.AbandonAfter, BoardDelay: o.BoardDelay, Events: o.Events, Audit: o.Audit, Log: o.Log,
	})
	begin := func(inbound store.Inbound, slot *lanes.Slot) *turn.Turn {
		g.intake.TurnBegins(inbound.In.Chat)
		return g.turns.NewTurn(inbound, slot)
	}
	g.lanes = lanes.New(lanes.Options[*turn.Turn]{Slots: o.MaxConcurrent, Store: o.Store, NewTurn: begin, Log: o.Log})
	g.intake = intake.New(intake.Options{
		Channels: o.Channels, Store: o.Store, Lanes: chatLanes{g.lanes}, Outbox: g.outbox, Settings: func() intake.Settings { return g.settings.Load().intake },
		AgentInfo: g.agentInfo, AgentChanged: g.turns.AgentChanged, Answered: g.turns.Answer, Dismissed: g.turns.Dismiss, Stopped: turn.ErrStopped, Interrupted: turn.ErrInterrupted,
		Runbooks: g.runbooks, NoticeDelay: o.NoticeDelay, Words: g.words,
		Events: o.Events, Audit: o.Audit, Log: o.Log,
	})
	g.applySettings(o.Settings)
	return g
}

// Reload changes the settings. Running turns keep the settings that they started with; at the end
// of the last one, their runners are closed. Only one goroutine may call it.
func (g *Gateway) Reload(s Settings) {
	earlier, menu := g.currentSettings().Words, g.intake.Menu()
	g.applySettings(s)
	if !reflect.DeepEqual(s.Words, earlier) || !reflect.DeepEqual(menu, g.intake.Menu()) {
		g.setMenus()
	}
}

func (g *Gateway) applySettings(s Settings) {
	g.words.Reload(s.Words)
	g.settings.Store(&appliedSettings{s, intakeSettings(s)}) // before a runner is closed, so that nobody can find a closed one
	g.turns.Reload(turnSettings(s))
	g.intake.RecheckAccess()
}

// setMenus sets the menus of commands of all channels that have one.
func (g *Gateway) setMenus() {
	for _, ch := range g.o.Channels {
		if m, ok := ch.(channels.Menu); ok {
			m.SetMenu(g.intake.Menu())
		}
	}
}

// appliedSettings are the settings, with the settings of intake that follow from them.
type appliedSettings struct {
	Settings
	intake intake.Settings
}

func (g *Gateway) currentSettings() *Settings { return &g.settings.Load().Settings }

func intakeSettings(s Settings) intake.Settings {
	set := intake.Settings{
		AllowFrom: s.AllowFrom, WhileRunning: s.WhileRunning, QueueLimit: s.QueueLimit, RatePerMinute: s.RatePerMinute, Gather: s.Gather, Agents: map[string]intake.Agent{},
		RunApprovers: s.Runbooks.Approvers,
	}
	for name, agent := range s.Agents {
		set.Agents[name] = intake.Agent{Runner: agent.Runner, Injectable: agent.Injectable, Approvers: agent.Approvers}
	}
	return set
}

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

// agentInfo returns the information that an agent has reported last in a chat.
func (g *Gateway) agentInfo(ctx context.Context, chat channels.Chat, agent string) (terminal.AgentInfo, error) {
	if t, ok := g.lanes.RunningTurn(chat); ok && t.Agent() == agent {
		if now, ok := t.AgentInfo(); ok {
			return now, nil
		}
	}
	return g.turns.StoredAgentInfo(ctx, chat, agent)
}

// IsAdmitted reports whether a person has access, so that a channel can save effort for others. It
// reports false if the store cannot tell.
func (g *Gateway) IsAdmitted(channel, user string) bool {
	ok, err := g.intake.Admits(context.Background(), channel, user)
	return ok && err == nil
}

// Run works until ctx ends, then drains: it receives nothing more, turns may end within
// DrainTimeout, and the remaining ones are killed and stay on disk for the next start. If the cause
// of ctx is store.ErrUnusable, turns are killed at once. ready, if not nil, is called after the
// recovery, before the channels run.
func (g *Gateway) Run(ctx context.Context, ready func()) error {
	// killed ends when the gateway no longer waits for turns.
	killed, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), store.ErrUnusable) { // the output of turns cannot be stored any more
			kill(errShutdown)
		}
	})()
	defer g.turns.Close()
	// Sending outlives the intake: the output of draining turns is still delivered.
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	var sends sync.WaitGroup
	sends.Go(func() { g.outbox.Run(sending) })
	sends.Go(func() { g.turns.Run(sending) })
	sends.Go(func() { g.intake.RunControls(sending) })
	sends.Go(func() { g.intake.RunNotices(sending) })
	defer sends.Wait()
	defer stopSending()
	if !g.recover(ctx) {
		return nil // ctx ended before the recovery was complete
	}
	g.turns.StartWarming()
	for name := range g.o.Channels {
		g.setChannelHealth(name, nil)
	}
	if ready != nil {
		ready()
	}
	// Access is watched while turns run, including the drain.
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
			return nil //nolint:nilerr // ctx has ended
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
	killTimer := time.AfterFunc(g.currentSettings().DrainTimeout, func() { kill(errShutdown) })
	defer killTimer.Stop()
	g.drain(killed)
	return err
}

// recover cleans up after an earlier run: its agents are killed, its sends resolved, its turns
// reported or retried. All other pending messages are claimed by the lanes like new ones. It
// reports false when ctx ends before.
func (g *Gateway) recover(ctx context.Context) bool {
	var adopted store.Adopted
	// A completed step is not repeated: later steps send messages that are not from the earlier
	// run.
	for _, step := range []func() error{
		func() (err error) { adopted, err = g.o.Store.Adopt(ctx); return err },
		func() error { return g.turns.KillLeftover(ctx, adopted.Inbounds) },
		func() error { return g.outbox.Recover(ctx, adopted) },
		func() error { return g.turns.Recover(ctx, adopted) },
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

// drain waits for the turns and for their output to be sent, until ctx ends.
func (g *Gateway) drain(ctx context.Context) {
	g.lanes.WaitForTurns()
	g.intake.IdleControls(ctx)
	g.turns.Idle(ctx)
	g.outbox.Idle(ctx)
}

// listen runs a channel as long as the gateway runs. A channel that fails is restarted with
// backoff, and does not affect other channels.
func (g *Gateway) listen(ctx context.Context, name string, ch channels.Channel) error {
	defer g.markEnded(ctx, name)
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
		g.setChannelHealth(name, nil)
		err := g.runChannel(ctx, ch)
		if ctx.Err() != nil {
			return nil // it was told to end
		}
		if time.Since(began) > time.Minute {
			pause.Reset()
		}
		wait := pause.NextBackOff()
		g.setChannelHealth(name, err)
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

// retention is how long finished rows are kept, for /status and the history.
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
