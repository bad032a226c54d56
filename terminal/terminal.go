// Package terminal runs micro-agents: it holds the contract of the protocols that talk with an
// agent, the envelope and the frames, and the runner that starts the configured command for one
// turn. It knows nothing of chat networks, queues or storage.
package terminal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"nanobot/terminal/process"
	"nanobot/terminal/screen"
)

// Protocol is how the gateway talks with the agent. The runner calls Turn once a turn, from many
// goroutines.
type Protocol interface {
	// Turn carries one message to the agent and what it says back to Emit. What the agent did wrong
	// is a frame and an outcome; an error is what we could not do. When it returns, every process
	// it launched is dead and reaped, but for those it keeps.
	Turn(ctx context.Context, t Turn) (Outcome, error)
}

// PersistentProtocol is a protocol whose agents may outlive a turn.
type PersistentProtocol interface {
	// Pool returns what keeps the agents; nil: no agent is kept.
	Pool() ProcessPool
}

// CommandStopper is a protocol whose kept agents may leave something running between turns. Stop
// ends what is left of a chat, which is an Envelope.SessionKey, and says how many commands that
// were. It must not take long.
type CommandStopper interface {
	StopCommands(chat string) (ended int)
}

// Restarter is a protocol that keeps something of a chat which ends when the person starts afresh.
// StartAfresh ends it, or has the turn that uses it end it. It must not take long.
type Restarter interface {
	StartAfresh(chat string)
}

// Turn is one incoming message to be worked on by the agent.
type Turn struct {
	Envelope Envelope
	// Run names the message for ever: it is the same when the message is run again.
	Run string
	// Stdin is what an agent reads that is started for one message: text, none, or else the
	// envelope.
	Stdin string
	// Launch starts the command. Some protocols start it more than once. When ctx ends the agent is
	// killed: at once if the time is up, politely otherwise.
	Launch func(ctx context.Context, in Input) (*Agent, error)
	// Keep starts a process for longer than this turn, until the protocol ends it.
	LaunchPersistent func(PersistentOptions) (*Agent, error)
	// PauseTimeout stops the clock of the turn until resume is called, for time that a person takes
	// and not the agent. Never nil.
	PauseTimeout func() (resume func())
	// AwaitPerson says that until resume is called the turn waits for the person and runs no
	// process. The clock of the turn stops and other turns may run in its place. The messages in
	// the queue of the chat are then offered to ReadMessage: if it is to read them, it does so
	// before AwaitPerson is called. resume must be called once, also when ctx has ended. It waits
	// until the turn may go on, and returns an error if its ctx ends before. Neither may be called
	// with a lock that ReadMessage takes. After a restart of the gateway in the meantime the turn
	// runs again, with the same Envelope.RunID and Attempt. Never nil.
	AwaitPerson func(ctx context.Context) (resume func(ctx context.Context) error)
	// Uses says that a process that was kept works on this turn.
	AttachProcess func(pid int)
	// ExecEnv is where the agent works.
	ExecEnv ExecEnv
	// Memory is what the protocol knows of this chat from earlier turns. Never nil.
	Memory Memory
	// Tell takes what the agent says about itself; the newest counts. Never nil.
	ReportAgentInfo func(AgentInfo)
	// Emit takes one frame, in order, and returns once it is safe. It works after ctx has ended
	// too, since what was already printed is still delivered.
	Emit func(Frame) error
	// Ask is never nil.
	Ask Ask
	// Interactive says that the agent may ask.
	Interactive bool
	// Injections has what the person writes while the agent is at work; nil if that is not for this
	// turn. A protocol takes from it only while the agent reads, and never after the turn. What it
	// took and the agent had not read in the end is counted in Outcome.Unread.
	Injections <-chan Injection
	// PassMedia says whether injections carry their media.
	PassMedia bool
	// Final says how the end of a turn is told to this chat.
	Final FinalOptions
	// OnEmpty, if not nil, is called by ReadLines and ReadLinesInteractive when the agent has left
	// no process, though some of what it said is still to be emitted. It may not be called at all.
	OnEmpty func()
	// MaxLine is the longest line of output in bytes, MaxOutput the most plain text that is kept.
	MaxLine, MaxOutput int
}

// PersistentOptions says what Turn.LaunchPersistent starts.
type PersistentOptions struct {
	Args []string // the program and its arguments; nil: the agent's command
	Env  []string // added to the environment of the chat's agent
	// Terminal is the size of the pseudo-terminal that the process runs on; nil: it has pipes.
	Terminal *process.Size
}

// ExecEnv is where an agent works and what it finds there.
type ExecEnv struct {
	Dir   string   // its working folder
	Roots []string // the folders it may use
	Env   []string // of what is started for it
	Shell string
	// MCPServers are the user's MCP servers that the agent is told to use.
	MCPServers []MCPServer
	// Private are the gateway's own files and folders, which are none of its business; Chats tell
	// the folders of other chats.
	Private []string
	Chats   []ChatFolders
	// User is the user that the agent runs as; nil: the same as the gateway, whose rights it has.
	User *syscall.Credential
	// ApplySandbox returns process options with the same limits and sandbox as the agent's. It is
	// never nil in a turn.
	ApplySandbox func(process.Options) process.Options
}

// Memory is what a protocol knows of a chat and an agent from turn to turn.
type Memory interface {
	// Load and Save are about what is forgotten when the person starts afresh.
	Load(ctx context.Context) (string, error)
	Save(ctx context.Context, s string) error
	// LoadLasting and SaveLasting are about what stays then.
	LoadLasting(ctx context.Context) (string, error)
	SaveLasting(ctx context.Context, s string) error
}

// AgentInfo is what an agent tells of itself: a line for who asks how it is, and the commands that
// it understands.
type AgentInfo struct {
	Line     string    `json:"line,omitempty"`
	Commands []Command `json:"commands,omitempty"`
}

// Command is a word that an agent understands when a message begins with it, led by a slash.
type Command struct {
	Name string `json:"name"`
	Help string `json:"help,omitempty"`
}

// Input is what a launched command finds on its stdin.
type Input struct {
	First []byte
	// Keep leaves stdin open behind First, for Agent.Write.
	KeepOpen bool
	// onStop, if not nil, is called with the cause when ctx has ended and the command was
	// signalled.
	onStop context.CancelCauseFunc
	// onEmpty, if not nil, is called when the command and all that it has started have exited, if
	// that is known before their output is read.
	onEmpty func()
}

// Kind is a frame's type.
type Kind string

// The frame types of Terminal Protocol v1.
const (
	Message  Kind = "message"
	Progress Kind = "progress"
	Error    Kind = "error"
	Log      Kind = "log"
)

// Partial is the beginning of the Message that follows, as far as the agent has said it. It is
// shown where it can be and is lost otherwise.
const Partial Kind = "partial"

// Frame is one thing an agent says. Text is as the agent wrote it, except in an Error that Emit
// gets, where it is what the user reads.
type Frame struct {
	Kind Kind
	Text string
	// Board says of a Progress that it is all that the agent is at, told anew with every change. It
	// is shown only where it can take the place of the one before.
	Board bool
	// Screen is a terminal screen that a Board or a Message shows below its text; nil: none.
	Screen *screen.Snapshot
	// Buttons are the commands that a Board or a Message offers.
	Buttons []ControlButton
	// Sequence numbers a Message or an Error among those that the message of the person has got,
	// over all its attempts: what an earlier attempt has said with the same number is not said
	// again. 0: it is counted from the beginning of this attempt.
	Sequence int
	Code     string // of an Error
	Level    string // of a Log: debug, info, warning or error
	// Audit says of a Log that it is a decision which the operator wants on record.
	Audit bool
	Media []string // of a Message: paths the agent named
	// Own is a folder of the protocol's, with those files of Media that it has written itself. They
	// may be sent wherever that is.
	ProtocolDir string
	// Guessed says that Media were found in text and not named on purpose, so that one that does
	// not exist is no mistake.
	Guessed bool
	// Checked are the files of Media that may be sent. The runner sets it, and closes them when
	// Emit has returned.
	Checked []File
}

// File is a file that an agent sends and that passed the checks. Who wants its content reads Open,
// which is the file that was checked; by now another may have its path.
type File struct {
	Path string
	Size int64
	Open *os.File
	info fs.FileInfo // of Open, when it was checked
}

// Status says how a turn ended.
type Status string

// The ways a turn ends.
const (
	Done     Status = "done"
	Failed   Status = "failed"  // error frame, non-zero exit or signal
	TimedOut Status = "timeout" // killed because its time was up
	Stopped  Status = "stopped" // ended because somebody asked
)

// Outcome is how a turn ended, for exit statuses and records; the user has been told by frames.
type Outcome struct {
	Status   Status
	ExitCode int
	Signal   string
	Stderr   string // its end
	// Unread is how many of the injections that were taken, counted from the last, the agent had
	// not read when it ended.
	Unread int
	// Memory is the peak in bytes, 0 if it is not known; CPU the processor time. The runner sets
	// both.
	Memory int64
	CPU    time.Duration
}

// ErrTimeout is the cause of a turn's context when its time is up.
var ErrTimeout = errors.New("timed out")
