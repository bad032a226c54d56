package terminal

import (
	"context"
	"errors"

	"nanobot/internal/role"
	"nanobot/internal/words"
)

// Chat is the conversation in which a turn takes place. The runner gives protocols a Chat of its
// own, which checks and cleans what passes through it, and stops the clock of the turn while
// somebody is asked. Its methods may be called from many goroutines.
type Chat interface {
	// Emit takes one frame, in order, and returns once it is stored. It also works after the end of
	// the turn's context, since output from before is still delivered. Log frames are never
	// refused.
	Emit(f Frame) error
	// Push sends a Message of the agent after the end of the turn, and returns once it is stored.
	// MayPush reports whether that is possible.
	Push(f Frame) error
	MayPush() bool
	// BoardHidden reports whether the chat shows no Board frames, so that what people are to read
	// must be a Message.
	BoardHidden() bool
	// HasBoard reports whether people see a board, which becomes the summary of the turn, or may
	// have seen one in an earlier attempt.
	HasBoard() bool
	// Ask puts a question to the person and returns the answer. It is called from its own
	// goroutines, several at a time. An error means that nobody answered in time, or that the turn
	// ends. It must return when ctx ends.
	Ask(ctx context.Context, q Question) (Answer, error)
	// AwaitPerson says that until resume is called, the turn waits for the person and runs no
	// process. The turn's clock stops, and other turns may run in its place. Queued messages of the
	// chat are then offered to ReadMessage, which must be ready before AwaitPerson is called.
	// resume must be called once, also when ctx has ended. It waits until the turn may continue,
	// and returns an error if its ctx ends first. Neither may be called with a lock that
	// ReadMessage takes. If the gateway restarts meanwhile, the turn runs again, with the same
	// Envelope.RunID and Attempt.
	//
	// resume is nil where nobody can send messages. Protocols get a function also then, and the
	// clock goes on.
	AwaitPerson(ctx context.Context) (resume func(ctx context.Context) error)
	// StepAside says that the turn needs no slot until back is called, and counts as not started
	// meanwhile: after a crash it runs again. back waits for a slot, and returns an error if its
	// ctx ends first. It is nil where there are no slots, and is not called if the agent has ended.
	StepAside(ctx context.Context) (back func(ctx context.Context) error)
	// Injections has messages that the person sends while the agent runs; nil: not in this turn. A
	// protocol receives from it only while the agent reads its input, and never after the turn.
	// Received injections that the agent has not read in the end are counted in Outcome.Unread. A
	// message stays in the channel until the agent reads, so a sender must not block longer than
	// the turn. Its files are granted by GrantFiles first.
	Injections() <-chan Injection
	// PersonTexts returns the person's messages since the turn began, without answers to questions.
	PersonTexts() []string
	// SessionAccess returns which of the agent's sessions the person may choose from.
	SessionAccess(ctx context.Context) (SessionAccess, error)
	// Role returns the role of the person; role.None: there are no roles.
	Role(ctx context.Context) (role.Role, error)
	// Memory holds what the protocol remembers of this chat from earlier turns.
	Memory() Memory
	// Report takes a fact about the turn. It must return quickly.
	Report(r Report)
}

// Report is a fact about a turn that the gateway is told: AgentInfo, Launched, AllExited,
// InjectionsRefused, Injected, Cancelled, ClockStarted or Usage.
type Report interface{ isReport() }

// Launched reports the PID of a process that works on the turn from now on.
type Launched int

// AllExited reports that the last process of the turn has exited. It is reported if that is known
// while output is still being emitted and no other process will follow.
type AllExited struct{}

// InjectionsRefused reports that the agent accepts no further injections, so that messages wait in
// the queue.
type InjectionsRefused struct{}

// Cancelled reports that the turn has timed out or was told to stop. Frames may follow.
type Cancelled struct{}

// ClockStarted reports that the timeout of the turn starts. Pause stops it until resume is called.
type ClockStarted struct{ Pause func() (resume func()) }

// Usage reports what the agent has used since its last report. The reports of a turn are added up.
type Usage struct {
	Model        string  `json:"model"` // "": unknown
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	Cost         float64 `json:"cost"` // in US dollars
}

// The largest numbers of a turn. They keep sums of many turns exact.
const (
	MaxTokens = 1_000_000_000_000
	MaxCost   = 1_000_000
)

func (AgentInfo) isReport()         {}
func (Usage) isReport()             {}
func (Launched) isReport()          {}
func (AllExited) isReport()         {}
func (InjectionsRefused) isReport() {}
func (Cancelled) isReport()         {}
func (ClockStarted) isReport()      {}

// AgentInfo is what an agent reports about itself: a line for /status, and the commands that it
// understands. The last report counts.
type AgentInfo struct {
	Line     string    `json:"line,omitempty"`
	Commands []Command `json:"commands,omitempty"`
}

// Command is a slash command that an agent understands.
type Command struct {
	Name string `json:"name"`
	Help string `json:"help,omitempty"`
	// HelpKey is the text in the catalogue that is shown instead of Help; "": none.
	HelpKey words.Key `json:"help_key,omitempty"`
	// Resumes says that the command continues a task that was interrupted.
	Resumes bool `json:"-"`
}

// Memory is what a protocol remembers of a chat and an agent between turns.
type Memory interface {
	// Load returns the text that was saved last with a key; "": none.
	Load(ctx context.Context, key MemoryKey) (string, error)
	Save(ctx context.Context, key MemoryKey, text string) error
}

// MemoryKey is the key of a text in a Memory.
type MemoryKey string

const (
	// ConversationMemory ends when the person starts a new conversation.
	ConversationMemory MemoryKey = "conversation"
	// HeardMemory is the runner's own, and ends with the conversation, too.
	HeardMemory MemoryKey = "heard"
	// LastingMemory outlives conversations.
	LastingMemory MemoryKey = "lasting"
	// SpeechMemory is the runner's own, and outlives conversations, too.
	SpeechMemory MemoryKey = "speech"
)

// SessionMemory is the key of a text about a session of an agent, which all chats of the gateway
// and all agents share for ever.
func SessionMemory(session string) MemoryKey { return MemoryKey("session:" + session) }

// SessionAccess is which of the agent's sessions a person may choose from.
type SessionAccess int

const (
	// OwnSessions are those that the chat has had.
	OwnSessions SessionAccess = iota
	// SessionsElsewhere are also those that no chat has had, such as those begun in a terminal.
	SessionsElsewhere
	// AllSessions are also those of other chats, for somebody who is alone with the bot.
	AllSessions
)

// NoChat is a Chat without a person: it shows and remembers nothing, and nobody answers. Chats that
// lack something embed it.
type NoChat struct{}

var _ Chat = NoChat{}

// Emit drops the frame.
func (NoChat) Emit(Frame) error { return nil }

// Push returns an error.
func (NoChat) Push(Frame) error { return errors.ErrUnsupported }

// MayPush reports false.
func (NoChat) MayPush() bool { return false }

// BoardHidden reports false.
func (NoChat) BoardHidden() bool { return false }

// HasBoard reports true.
func (NoChat) HasBoard() bool { return true }

// Ask returns ErrNobodyToAsk.
func (NoChat) Ask(context.Context, Question) (Answer, error) { return Answer{}, ErrNobodyToAsk }

// AwaitPerson returns nil.
func (NoChat) AwaitPerson(context.Context) (resume func(ctx context.Context) error) { return nil }

// StepAside returns nil.
func (NoChat) StepAside(context.Context) (back func(ctx context.Context) error) { return nil }

// Injections returns nil.
func (NoChat) Injections() <-chan Injection { return nil }

// PersonTexts returns nil.
func (NoChat) PersonTexts() []string { return nil }

// SessionAccess returns OwnSessions.
func (NoChat) SessionAccess(context.Context) (SessionAccess, error) { return OwnSessions, nil }

// Role returns role.None.
func (NoChat) Role(context.Context) (role.Role, error) { return role.None, nil }

// Memory returns a memory that forgets everything.
func (NoChat) Memory() Memory { return noMemory{} }

// Report drops the report.
func (NoChat) Report(Report) {}

type noMemory struct{}

func (noMemory) Load(context.Context, MemoryKey) (string, error) { return "", nil }
func (noMemory) Save(context.Context, MemoryKey, string) error   { return nil }
