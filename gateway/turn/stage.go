// Package turn works on messages: it runs the agent, shows and stores its output, and records the
// outcome. It does not know particular channels or protocols, nor how access is decided, turns are
// scheduled and messages are sent.
package turn

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/display"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/waiters"
	"nanobot/internal/role"
	"nanobot/internal/tasks"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Store is the part of the store that turns use.
type Store interface {
	SetProcess(inbound int64, p store.Process) error
	Finish(ctx context.Context, id int64, state store.State, out store.Outcome, with ...int64) (next bool, err error)
	History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]store.Entry, error)
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
	Remember(ctx context.Context, chat channels.Chat, key, value string) error
	SaveDetails(ctx context.Context, inbound int64, text string) error
	Question(ctx context.Context, id string) (store.Question, bool, error)
	UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) ([]store.Question, error)
	Withdraw(ctx context.Context, id string) (bool, error)
	// EraseAnswer and EraseText remove a secret that the turn has read.
	EraseAnswer(ctx context.Context, id string) error
	EraseText(ctx context.Context, id int64) ([]store.Transient, error)
	Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error)
	// Recent, CountPending, Requeue and Dismiss are used for turns that an earlier run of the
	// gateway has left.
	Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
	CountPending(ctx context.Context, chat channels.Chat) (int, error)
	Requeue(ctx context.Context, id int64, unbegun bool) error
	// SettlePending ends an injected message that the agent has worked on.
	SettlePending(ctx context.Context, id int64) error
	Dismiss(ctx context.Context, who store.Person) error
	FolderName(ctx context.Context) (string, error)
}

// Outbox sends the messages of turns.
type Outbox interface {
	Post(ctx context.Context, m *outbox.Message) error
	Ask(ctx context.Context, q store.Question, m channels.Message) error
	// ShowOutcome edits the message of a question to show its outcome.
	ShowOutcome(q store.Question, how string)
	// ClosePickers closes the open pickers of a chat, except that of an inbound message.
	ClosePickers(ctx context.Context, chat channels.Chat, except int64, w words.Words) error
	// ShowMenu has the commands of a chat's menu set in the background, until set succeeds.
	ShowMenu(chat channels.Chat, set func(ctx context.Context) error)
	display.Outbox
}

// Runner runs agents. Outside tests it is a *terminal.Runner.
type Runner interface {
	Turn(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.Outcome, error)
	// GrantFiles lets the agent of a chat read files that were sent while it ran.
	GrantFiles(channel, chatID string, files []string) error
	// StartWarming lets the runner start processes before their messages. Calls after the first do
	// nothing.
	StartWarming(gateway string)
	Close()
}

// Access decides who may use the bot.
type Access interface {
	AdmitsMessage(ctx context.Context, in channels.Incoming) (bool, error)
	// Sessions returns which sessions of an agent the sender of a message may choose from.
	Sessions(ctx context.Context, in channels.Incoming, agent string) (terminal.SessionAccess, error)
	// RoleOf returns the role with which the text of a message counts.
	RoleOf(ctx context.Context, in channels.Incoming) (role.Role, error)
	// LastAdmitted returns the newest message in a chat of a person with access. It reports false
	// if nobody there has access any more, so that nothing is sent outside of turns.
	LastAdmitted(ctx context.Context, chat channels.Chat) (last int64, ok bool, err error)
}

// Choice knows the agents of chats.
type Choice interface {
	// Next returns the agent that answers the next message of a chat.
	Next(ctx context.Context, chat channels.Chat) (name string, err error)
	// AgentCommands returns the commands of an agent that the chat's menu can show.
	AgentCommands(agent string, about terminal.AgentInfo) []channels.Command
}

// Notices tell people that their messages wait.
type Notices interface {
	// Announce tells the sender of an injected message that it waits for a turn of its own, because
	// the agent does not accept it.
	Announce(inbound store.Inbound)
	// Recheck is called when a message has left the queue of a chat.
	Recheck(chat channels.Chat)
}

// Slot is the permission of a turn to run its agent.
type Slot interface {
	// Yield releases the slot, sleeps until the pause is over or wake has a value, and reacquires a
	// slot. It reports false when ctx ends before.
	Yield(ctx context.Context, pause time.Duration, wake <-chan struct{}) bool
	// AgentExited says that the turn has no process left and only its output is still being stored.
	// The slot becomes free for another turn, unless too many turns are being stored.
	AgentExited()
	// Release releases the slot before the end of the turn: the agent has ended, or the turn waits
	// for a person. Retake waits for a slot again. It reports false when ctx ends before.
	Release()
	Retake(ctx context.Context) bool
}

// Progress says how the progress of a turn is shown.
type Progress string

// The ways of showing progress.
const (
	EditProgress Progress = "edit"    // in one message, edited in place, on channels that can edit
	SendProgress Progress = "message" // in one message per progress frame
	HideProgress Progress = "off"
)

// OnCrash says what happens with a turn that the end of the gateway has cut off.
type OnCrash string

// The values of OnCrash.
const (
	ReportCrash OnCrash = "report"
	RetryCrash  OnCrash = "retry"
)

// Settings may change while the gateway runs. A running turn keeps the settings that it started
// with.
type Settings struct {
	// Agents are the agents by name. The default agent must be among them: it runs the turns of
	// agents that are no longer configured.
	Agents  map[string]AgentSettings
	OnCrash OnCrash
}

// AgentSettings says how the turns of one agent run.
type AgentSettings struct {
	Runner   Runner
	Progress Progress
	// Inject allows messages to be injected into a running turn.
	Inject      bool
	PassHistory int
	Launch      audit.Launch // how Runner starts the agent, for the audit log
}

// Options configures the stage.
type Options struct {
	Channels map[string]channels.Channel
	Store    Store
	Outbox   Outbox
	Access   Access
	Choice   Choice
	Notices  Notices
	// Wake tells the lanes that there may be a message to claim.
	Wake func()
	// Keeps reports whether this member keeps a chat whose turn has ended; nil: it does not.
	Keeps func(chat channels.Chat) bool
	// OfferQueue offers the queued messages of a chat to its running turn, which reads messages.
	OfferQueue func(ctx context.Context, chat channels.Chat) error
	Words      *words.Catalogue // nil: without the operator's settings
	// Admit counts a message for its quotas. It reports whether its turn may start, and returns
	// what its chat is to be told; "": nothing. nil: there are no quotas.
	Admit func(ctx context.Context, inbound store.Inbound, agent string, w words.Words) (ok bool, notice string, err error)
	// Executor, if not nil, works on some messages instead of their agents.
	Executor Executor
	// AbandonAfter is how long a turn that was told to stop may take before its chat continues
	// without it.
	AbandonAfter time.Duration
	// BoardDelay is how long a turn runs before it has a board, also without a progress frame. 0
	// means three seconds.
	BoardDelay time.Duration
	// Events, if not nil, observes the turns. Turns are traced only if it is set.
	Events events.Func
	Audit  audit.Func // records which agents were started, and for whom
	Log    *zap.Logger
}

// The causes of an early end of a turn.
var (
	ErrStopped     = errors.New("stopped by the user")
	ErrInterrupted = errors.New("interrupted by a new message")
)

// Stage holds the state that all turns share.
type Stage struct {
	o            Options
	settings     atomic.Pointer[Settings]
	display      *tasks.Group // shows turns while they run; an ended turn does not wait for it
	runners      runners
	answers      waiters.Waiters[reply] // by the ID of the question
	shortage     shortage
	personWaits  personWaits
	intakeClosed chan struct{} // closed when the gateway stops receiving messages
	warming      atomic.Bool   // StartWarming was called
	name         string        // marks this gateway in the environment of persistent agents; set by KillLeftover
}

// New returns a stage. It has no settings before Reload, and shows nothing before Run.
func New(o Options) *Stage {
	if o.BoardDelay == 0 {
		o.BoardDelay = display.DefaultDelay
	}
	return &Stage{
		o: o, display: tasks.New(), shortage: shortage{freed: make(chan struct{}, 1)},
		intakeClosed: make(chan struct{}),
	}
}

// Run runs the display tasks of turns until ctx ends, which also cancels their network calls.
func (s *Stage) Run(ctx context.Context) { s.display.Run(ctx) }

// Idle returns when no display task is running, or when ctx ends.
func (s *Stage) Idle(ctx context.Context) { s.display.WaitIdle(ctx) }

// Reload changes the settings of new turns. A runner that is no longer used is closed at the end of
// its last turn.
func (s *Stage) Reload(set Settings) {
	var next []Runner
	for _, agent := range set.Agents {
		next = append(next, agent.Runner)
	}
	s.runners.replace(next, func() { s.settings.Store(&set) })
	if s.warming.Load() {
		s.StartWarming()
	}
}

// StartWarming lets the runners, and those of later settings, start processes before their
// messages. It is called after KillLeftover, which would kill these processes.
func (s *Stage) StartWarming() {
	s.warming.Store(true)
	for _, agent := range s.settings.Load().Agents {
		agent.Runner.StartWarming(s.name)
	}
}

// Close closes the runners and waits for their agents to end, at most AbandonAfter: an abandoned
// turn may never end, and its agents die with the gateway.
func (s *Stage) Close() { s.runners.closeAll(s.o.AbandonAfter, s.o.Log) }

// NewTurn returns the turn of a claimed message. The caller must call its Run or its Drop.
func (s *Stage) NewTurn(inbound store.Inbound, slot Slot) *Turn {
	s.o.Notices.Recheck(inbound.In.Chat)
	defer s.o.Events.Report(events.Event{Type: events.Started, Chat: inbound.In.Chat, Inbound: inbound.ID})
	shared := &facts{
		stage: s, inbound: inbound, slot: slot, ch: s.o.Channels[inbound.In.Chat.Channel],
		words: s.o.Words.For(inbound.In.User.Language), started: time.Now(),
		log: s.o.Log.With(zap.Stringer("chat", inbound.In.Chat), zap.Int64("run", inbound.ID)),
	}
	t := &Turn{facts: shared, people: &people{facts: shared}, output: &output{facts: shared, lateCopyBytes: lateCopyLimit}}
	t.releaseRunner = s.runners.acquire(func() Runner {
		t.agent, t.settings = s.settings.Load().agentFor(inbound)
		return t.settings.Runner
	})
	if t.agent != store.DefaultAgent {
		t.log = t.log.With(zap.String("agent", t.agent))
	}
	if s.o.Executor != nil && s.o.Executor.Executes(inbound.In) {
		t.executor = s.o.Executor
	}
	t.hideSecret()
	if t.settings.Inject && t.executor == nil {
		t.injections.lines = make(chan terminal.Injection, maxInjected)
	}
	if s.o.Events != nil {
		t.tracer = &tracer{}
	}
	t.personWait.offerAgain = make(chan struct{}, 1)
	t.display = display.New(display.Options{
		Inbound: inbound, Channel: t.ch, Outbox: s.o.Outbox, Words: t.words, Edits: t.settings.Progress == EditProgress,
		Delay: s.o.BoardDelay,
		Tasks: s.display, Log: t.log, Elapsed: t.elapsed, AwaitsPerson: t.awaitsPerson, NotStarted: t.lacksResources.Load,
		HidesBoard: t.hidesBoard, Fenced: t.isFenced,
	})
	t.memory = &memory{store: s.o.Store, chat: inbound.In.Chat, agent: t.agent}
	t.info = &infoRecorder{t: t, wake: make(chan struct{}, 1)}
	return t
}

// Answer delivers the answer of a question, or the reason why there is none, to the turn that waits
// for it, if there still is one.
func (s *Stage) Answer(question string, a terminal.Answer, err error) {
	s.answers.Deliver(question, reply{a, err})
}
