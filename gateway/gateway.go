// Package gateway carries messages from the channels to the agents and the answers back. It
// composes the stages intake, lanes, turn and outbox. It does not know the names of channels and
// protocols: their differences are behind their contracts.
package gateway

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/access"
	"nanobot/gateway/audit"
	"nanobot/gateway/beat"
	"nanobot/gateway/choice"
	"nanobot/gateway/display"
	"nanobot/gateway/events"
	"nanobot/gateway/forward"
	"nanobot/gateway/hooks"
	"nanobot/gateway/intake"
	"nanobot/gateway/lanes"
	"nanobot/gateway/notices"
	"nanobot/gateway/outbox"
	"nanobot/gateway/runbook"
	"nanobot/gateway/runbook/chatrun"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/internal/role"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Settings may change while the gateway runs.
type Settings struct {
	// Agents are the agents by name, including store.DefaultAgent.
	Agents map[string]Agent
	// Routes are the rules about who answers. Their agents are among Agents.
	Routes []config.Route
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
	Keep          config.Keep
	Recordings    Recordings // nil: turns are not recorded
	Runbooks      Runbooks
	Schedules     map[string]schedule.Configured // by name
	Timezone      string                         // of times of day in chats; "": the system's
	Words         words.Settings
	Hooks         map[string]hooks.Hook // by name; see HookHandler
	// Roles are the people (channel:userid) by role; nil: there are no roles.
	Roles  map[role.Role][]string
	Quotas []config.Quota
}

// Runbooks are the settings of runbooks.
type Runbooks struct {
	Folder string
	// Approvers are the people (channel:userid) who may decide in runs; empty: everybody.
	Approvers []string
	// CheckShell has the command of a shell step executed again after an agent reports its success.
	CheckShell bool
}

// Recordings are the recorded turns.
type Recordings interface {
	// Prune removes those older than an age and the oldest beyond a number; 0: there is no limit.
	Prune(ctx context.Context, age time.Duration, count int) error
	// Open opens the last recording of a message, of which run is the name of the turns. Without
	// one, the error is fs.ErrNotExist.
	Open(inbound store.Inbound, run string) (*os.File, error)
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
	Labels    []string     // see Options.Labels
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
	Audit  audit.Func      // records who started which agent
	Record outbox.Recorder // of what is sent; nil: nothing is recorded
	// Labels are those of this member: it runs the agents whose labels it has all of.
	Labels []string
	// Lost, if not nil, is called when the lease of this member could not be renewed: its agents
	// must be dead before the lease has ended.
	Lost func()
}

// Gateway carries messages between channels and agents and loses none: incoming messages are on
// disk before they are acknowledged, outgoing messages before they are sent.
type Gateway struct {
	o        Options
	settings atomic.Pointer[appliedSettings]
	words    *words.Catalogue
	// Below the stages:
	access     *access.Access
	revocation *access.Revocation[*turn.Turn]
	choice     *choice.Choice
	notices    *notices.Notices
	runbooks   *chatrun.Runbooks
	rates      toolRates
	schedules  *schedule.Engine
	forwards   *forward.Forwards
	// The stages:
	intake *intake.Intake
	lanes  *lanes.Lanes[*turn.Turn]
	turns  *turn.Stage
	outbox *outbox.Outbox
	lease  *beat.Lease

	shared bool         // there may be other members
	phase  atomic.Int32 // see phase

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
		health: map[string]ChannelHealth{}, endedLoops: map[string]bool{}, lease: &beat.Lease{Store: o.Store},
		shared: store.MemberName(o.Store.Member()) != "",
	}
	g.connectChannels()
	g.outbox = outbox.New(outbox.Options{
		Words: g.words, Store: o.Store, Channels: o.Channels,
		AtMostOnce: func() bool { return g.currentSettings().AtMostOnce }, EndReaction: display.EndReaction,
		Log: o.Log, Events: o.Events, Guard: g.lease.Check, Record: o.Record,
	})
	g.runbooks = chatrun.New(chatrun.Options{
		Words:     g.words,
		Runs:      runbook.Runs{Records: o.Store},
		Folder:    func() runbook.Folder { return runbook.Folder(g.currentSettings().Runbooks.Folder) },
		Questions: o.Store, Outbox: g.outbox, Log: o.Log,
	})
	g.access = access.New(access.Options{
		Store: o.Store, Channels: o.Channels,
		Settings: func() access.Settings { return g.settings.Load().access }, Log: o.Log,
	})
	g.choice = choice.New(choice.Options{
		Store:  o.Store,
		Agents: func() map[string]choice.Agent { return g.settings.Load().agents }, HasRunbooks: g.runbooks.Available,
		Routes: func() []config.Route { return g.currentSettings().Routes }, Locate: g.locateChat,
		MaySwitch: g.access.MaySwitch, Words: g.words,
	})
	g.notices = notices.New(notices.Options{
		Channels: o.Channels, Store: o.Store, Outbox: g.outbox, Delay: o.NoticeDelay, Words: g.words, Log: o.Log,
	})
	g.turns = turn.New(turn.Options{
		Channels: o.Channels, Store: o.Store, Outbox: g.outbox, Access: g.access, Choice: g.choice, Notices: g.notices,
		Admit: g.admitTurn, Executor: g.runbooks, Words: g.words,
		Wake: func() { g.lanes.Wake() },
		Keeps: func(chat channels.Chat) bool {
			return g.shared && g.inPhase(following, leading) && g.keepsAgent(chat.String())
		},
		OfferQueue:   func(ctx context.Context, chat channels.Chat) error { return g.intake.OfferQueue(ctx, chat) },
		AbandonAfter: o.AbandonAfter, BoardDelay: o.BoardDelay, Events: o.Events, Audit: o.Audit, Log: o.Log,
	})
	begin := func(inbound store.Inbound, slot *lanes.Slot) *turn.Turn { return g.turns.NewTurn(inbound, slot) }
	g.lanes = lanes.New(lanes.Options[*turn.Turn]{
		Slots: o.MaxConcurrent, Store: o.Store, Claims: g.claims, NewTurn: begin, Log: o.Log,
	})
	g.schedules = g.newSchedules()
	g.intake = intake.New(intake.Options{
		Channels: o.Channels, Store: o.Store, Lanes: chatLanes{g.lanes}, Outbox: g.outbox,
		Access: g.access, Choice: g.choice, Notices: g.notices,
		Settings:  func() intake.Settings { return g.settings.Load().intake },
		AgentInfo: g.agentInfo, AgentChanged: g.turns.AgentChanged, Answered: g.turns.Answer,
		Stopped: turn.ErrStopped, Interrupted: turn.ErrInterrupted,
		Runbooks: g.runbooks, Schedules: g.schedules, Words: g.words,
		Events: o.Events, Audit: o.Audit, Log: o.Log,
	})
	g.forwards = forward.New(forward.Options{Store: o.Store, Receive: g.intake.Receive, Keeps: g.keepsAgent, Log: o.Log})
	g.revocation = access.NewRevocation(access.RevocationOptions[*turn.Turn]{
		Access: g.access, Dismissed: o.Store.Dismissed, RunningTurns: g.lanes.RunningTurns, Outbox: g.outbox, Log: o.Log,
		Agents:     func() []access.Agents { return g.settings.Load().persistent },
		Forgetting: access.Forgetting{Records: o.Store, Member: o.Store.Member(), Reread: g.schedules.Reread},
	})
	g.applySettings(o.Settings)
	return g
}

// connectChannels gives the channels access to what they use of the gateway.
func (g *Gateway) connectChannels() {
	// A text that waits for further ones of its sender, see Settings.Gather, need not wait before.
	idle := func(chat channels.Chat) bool {
		_, runs := g.lanes.RunningTurn(chat)
		return !runs && g.currentSettings().Gather == 0
	}
	for name, ch := range g.o.Channels {
		if r, ok := ch.(channels.MemoryUser); ok {
			r.SetMemory(channelMemory{g.o.Store, name, idle})
		}
		if r, ok := ch.(channels.FileReceiver); ok {
			r.SetFiles(receivedFiles{g.o.Store, g.currentSettings})
		}
		if u, ok := ch.(channels.WordsUser); ok {
			u.SetWords(g.words)
		}
		if r, ok := ch.(channels.MenuReader); ok {
			r.SetMenuSource(g.choices)
		}
	}
}

// Reload changes the settings. Running turns keep the settings that they started with; at the end
// of the last one, their runners are closed. Only one goroutine may call it.
func (g *Gateway) Reload(s Settings) {
	earlier, menu := g.currentSettings().Words, g.choice.Menu()
	g.applySettings(s)
	if !reflect.DeepEqual(s.Words, earlier) || !reflect.DeepEqual(menu, g.choice.Menu()) {
		g.setMenus()
	}
}

func (g *Gateway) applySettings(s Settings) {
	g.words.Reload(s.Words)
	g.settings.Store(newAppliedSettings(s, g.o.Labels)) // before a runner is closed, so that nobody can find a closed one
	g.turns.Reload(turnSettings(s))
	g.revocation.Recheck()
	g.schedules.Reload(s.Schedules)
}

// setMenus sets the menus of commands of all channels that have one.
func (g *Gateway) setMenus() {
	for _, ch := range g.o.Channels {
		if m, ok := ch.(channels.Menu); ok {
			m.SetMenu(g.choice.Menu())
		}
	}
}

// appliedSettings are the settings, with what the parts of the gateway are told of them.
type appliedSettings struct {
	Settings
	intake     intake.Settings
	access     access.Settings
	agents     map[string]choice.Agent
	persistent []access.Agents
	// otherAgents are the agents that only other members run.
	otherAgents []string
}

func newAppliedSettings(s Settings, labels []string) *appliedSettings {
	applied := &appliedSettings{
		Settings: s,
		intake: intake.Settings{
			WhileRunning: s.WhileRunning, QueueLimit: s.QueueLimit, RatePerMinute: s.RatePerMinute, Gather: s.Gather,
			Agents: map[string]intake.Agent{}, Timezone: s.Timezone,
		},
		access: access.Settings{
			AllowFrom: s.AllowFrom, Approvers: map[string][]string{}, RunApprovers: s.Runbooks.Approvers, Roles: s.Roles,
		},
		agents: map[string]choice.Agent{},
	}
	for name, agent := range s.Agents {
		applied.intake.Agents[name] = intake.Agent{Runner: agent.Runner, Injectable: agent.Injectable}
		applied.access.Approvers[name] = agent.Approvers
		applied.agents[name] = agent.Runner
		applied.persistent = append(applied.persistent, agent.Runner)
		if !hasLabels(labels, agent.Labels) {
			applied.otherAgents = append(applied.otherAgents, name)
		}
	}
	return applied
}

func (g *Gateway) currentSettings() *Settings { return &g.settings.Load().Settings }

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

// choices returns what a person can choose in a chat.
func (g *Gateway) choices(ctx context.Context, chat channels.Chat, user channels.User) (channels.Choices, error) {
	in, err := g.choice.Decide(ctx, channels.Incoming{Chat: chat, User: user})
	if err != nil {
		return channels.Choices{}, err
	}
	agent := in.Answerer.Agent
	about, err := g.agentInfo(ctx, chat, agent)
	if err != nil {
		return channels.Choices{}, err
	}
	r, err := g.access.Role(ctx, store.Person{Channel: chat.Channel, User: user.ID})
	if err != nil {
		return channels.Choices{}, err
	}
	commands := slices.Concat(g.choice.GatewayCommands(), g.choice.AgentCommands(agent, about))
	return channels.Choices{Commands: choice.Allowed(r, commands), Agent: agent, Agents: in.Answerer.Choices}, nil
}

// locateChat returns where a chat is, as far as its ID says; see channels.ChatLocator.
func (g *Gateway) locateChat(chat channels.Chat) (parent, topic string, group bool) {
	if l, ok := g.o.Channels[chat.Channel].(channels.ChatLocator); ok {
		return l.LocateChat(chat.ID)
	}
	return "", "", false
}

// IsAdmitted reports whether a person has access, so that a channel can save effort for others. It
// reports false if the store cannot tell.
func (g *Gateway) IsAdmitted(channel, user string) bool {
	ok, err := g.access.Admits(context.Background(), channel, user)
	return ok && err == nil
}
