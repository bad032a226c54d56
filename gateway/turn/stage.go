// Package turn works on messages: it runs the agent, shows and stores what it says, and records how
// that ended. It does not know which channel or protocol it is, who is admitted, when it runs, nor
// how messages are sent.
package turn

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/internal/tasks"
	"nanobot/terminal"
)

// Store is what turns keep on disk.
type Store interface {
	SetProcess(inbound int64, p store.Process) error
	Finish(ctx context.Context, id int64, state store.State, out store.Outcome, with ...int64) (next bool, err error)
	History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]store.Entry, error)
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
	Remember(ctx context.Context, chat channels.Chat, key, value string) error
	Question(ctx context.Context, id string) (store.Question, bool, error)
	Withdraw(ctx context.Context, id string) (bool, error)
	Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error)
	// What follows is for the turns that another run of the gateway has left.
	Requeue(ctx context.Context, id int64, unbegun bool) error
	Dismiss(ctx context.Context, who store.Person) error
}

// Outbox is where the words of turns go.
type Outbox interface {
	Post(ctx context.Context, m *outbox.Message) error
	Ask(ctx context.Context, q outbox.Question) error
	// ShowEnd has the message of a question show how that ended.
	ShowEnd(q store.Question, how string)
	// Show sends or edits a message that is there only while a turn runs. Remove and RemoveLeft
	// remove such messages.
	Show(ctx context.Context, t outbox.Transient) (id string, err error)
	Remove(b store.Transient)
	RemoveLeft(ctx context.Context, inbound int64, ids []string) error
	// Empty reports whether nothing waits to be sent to a chat.
	Empty(ctx context.Context, chat channels.Chat) bool
}

// Runner runs agents. Outside tests it is a *terminal.Runner.
type Runner interface {
	Turn(ctx context.Context, req terminal.Request, emit func(terminal.Frame) error) (terminal.Outcome, error)
	// GrantFiles lets the agent of a chat read files that were sent while it ran.
	GrantFiles(chat string, files []string) error
	Close()
}

// Slot is the permission of a turn to run.
type Slot interface {
	// Yield waits and lets another turn run meanwhile. It reports false when ctx ends before the
	// turn may go on.
	Yield(ctx context.Context, pause time.Duration) bool
	// AgentExited says that no process of the turn is left, though what it has said is still being
	// stored. Another turn may have the slot if not too many turns are being stored already.
	AgentExited()
	// Release gives the permission back before the turn has ended: its agent has, or it waits for a
	// person. Retake waits until the turn may go on after that. It reports false when ctx ends
	// before.
	Release()
	Retake(ctx context.Context) bool
}

// Progress says how the progress of a turn is shown.
type Progress string

// The ways to show progress.
const (
	EditProgress Progress = "edit"    // in one message, edited in place, where the channel can edit
	SendProgress Progress = "message" // in a message each
	HideProgress Progress = "off"
)

// OnCrash says what is done about a turn that the end of the daemon has cut off.
type OnCrash string

// The ways to deal with such a turn.
const (
	ReportCrash OnCrash = "report"
	RetryCrash  OnCrash = "retry"
)

// Settings may change while the gateway runs. A turn keeps those it began with.
type Settings struct {
	// Agents are the agents by name. The default agent must be among them: it runs the turns of
	// those that are not.
	Agents  map[string]Agent
	OnCrash OnCrash
}

// Agent is how the turns of one agent run.
type Agent struct {
	Runner   Runner
	Progress Progress
	// Inject says that the agent takes messages while it runs.
	Inject      bool
	PassHistory int
	Launch      audit.Launch // how Runner starts the agent, for Options.Audit
}

// Options is what the stage is made of.
type Options struct {
	Channels map[string]channels.Channel
	Store    Store
	Outbox   Outbox
	// Admits reports whether a person has access.
	Admits func(ctx context.Context, channel, user string) (bool, error)
	// Wake has the lanes look for the next message.
	Wake func()
	// Menu returns those of an agent's commands that reach it.
	Menu func(agent string, about terminal.AgentInfo) []channels.Command
	// Answers reports whether it is this agent that answers the next message of a chat.
	Answers func(ctx context.Context, chat channels.Chat, agent string) (bool, error)
	// OfferQueue offers the queue of a chat to the turn that runs in it and reads messages.
	OfferQueue func(ctx context.Context, chat channels.Chat) error
	// Executor, if not nil, works on some messages in the place of their agents.
	Executor Executor
	// AbandonAfter is how long a turn that was told to stop may take before its chat goes on
	// without it.
	AbandonAfter time.Duration
	// NotifyAfter is how long ago the beginning of an answer may have been shown for its end to be
	// an edit of that, which nobody is notified of. Later it is a new message.
	NotifyAfter time.Duration
	// Events, if not nil, is told what turns do. They are then traced, too.
	Events events.Func
	Audit  audit.Func // who started what
	Log    *zap.Logger
}

// The causes by which a turn is ended early.
var (
	ErrStopped     = errors.New("stopped by the user")
	ErrInterrupted = errors.New("interrupted by a new message")
)

// Stage is what turns have in common.
type Stage struct {
	o        Options
	settings atomic.Pointer[Settings]
	display  *tasks.Group // shows turns while they run; a turn that has ended does not wait for it
	runners  runners
	answers  answers
	shortage shortage
	waits    waits
	deaf     chan struct{} // closed when the gateway receives no messages any more
	name     string        // marks this gateway in the environment of agents that are kept; set by KillLeftover
}

// New returns the stage. It has no settings until Reload, and shows nothing until Run.
func New(o Options) *Stage {
	return &Stage{o: o, display: tasks.New(), deaf: make(chan struct{})}
}

// Run runs what shows turns until ctx ends, with which network calls end.
func (s *Stage) Run(ctx context.Context) { s.display.Run(ctx) }

// Idle returns when nothing of a turn is being shown, or when ctx ends.
func (s *Stage) Idle(ctx context.Context) { s.display.Idle(ctx) }

// Reload changes the settings of the turns to come. When the last turn of a runner that is not used
// any more has ended, that runner is closed.
func (s *Stage) Reload(set Settings) {
	var next []Runner
	for _, agent := range set.Agents {
		next = append(next, agent.Runner)
	}
	s.runners.swap(next, func() { s.settings.Store(&set) })
}

// Close closes the runners and waits for their agents to end, but not for ever: a turn that was
// left behind may never end, and its agents die with the gateway.
func (s *Stage) Close() { s.runners.end(s.o.AbandonAfter, s.o.Log) }

// Begin returns the turn of a message that was claimed. Its Run or its Drop must be called.
func (s *Stage) Begin(inbound store.Inbound, slot Slot) *Turn {
	defer s.o.Events.Tell(events.Event{What: events.Started, Chat: inbound.In.Chat, Inbound: inbound.ID})
	t := &Turn{
		stage: s, inbound: inbound, slot: slot, ch: s.o.Channels[inbound.In.Chat.Channel], began: time.Now(), late: lateBytes,
		log: s.o.Log.With(zap.Stringer("chat", inbound.In.Chat), zap.Int64("run", inbound.ID)),
	}
	t.done = s.runners.use(func() Runner {
		t.agent, t.set = s.settings.Load().agentOf(inbound)
		return t.set.Runner
	})
	if t.agent != store.DefaultAgent {
		t.log = t.log.With(zap.String("agent", t.agent))
	}
	if s.o.Executor != nil && s.o.Executor.Executes(inbound.In) {
		t.executor = s.o.Executor
	}
	if t.set.Inject && t.executor == nil {
		t.inject.lines = make(chan terminal.Injection, mostInjected)
	}
	if s.o.Events != nil {
		t.tracer = &tracer{}
	}
	t.person.again = make(chan struct{}, 1)
	t.transient, t.live = newTransient(t), newLive(t)
	t.memory = &memory{store: s.o.Store, chat: inbound.In.Chat, agent: t.agent}
	t.about = &about{t: t, wake: make(chan struct{}, 1)}
	return t
}

// Answer brings the answer to a question to the turn that waits for it, if it still does.
func (s *Stage) Answer(question string, a terminal.Answer) { s.answers.deliver(question, a) }
