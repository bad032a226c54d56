// Package gateway carries messages from the channels to the agents and the answers back. It
// composes the stages intake, lanes, turn and outbox. It does not know the names of channels and
// protocols: their differences are behind their contracts.
package gateway

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/intake"
	"nanobot/gateway/lanes"
	"nanobot/gateway/outbox"
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
	Files         Files
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
	// PruneFiles removes the files that were received before a time and are unchanged, and returns
	// how many; nil: received files are never removed.
	PruneFiles func(ctx context.Context, before time.Time) (int, error)
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
		if r, ok := ch.(channels.FileReceiver); ok {
			r.SetFiles(receivedFiles{o.Store, g.currentSettings})
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
