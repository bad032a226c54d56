// Package terminal runs agents. It has the contract of the protocols, the envelope and the frames,
// and the runner, which starts the configured command for a turn. It knows nothing of chat
// networks, queues or storage.
package terminal

import (
	"context"
	"errors"
	"syscall"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal/media"
	"nanobot/terminal/process"
	"nanobot/terminal/screen"
)

// Protocol is how the gateway talks with an agent. The runner calls Turn once for each turn, from
// many goroutines.
type Protocol interface {
	// Turn passes one message to the agent and the agent's output to Emit. Mistakes of the agent
	// are frames and an outcome; an error means that the gateway could not do its part. When it
	// returns, every process that it launched is dead and reaped, except for persistent agents.
	Turn(ctx context.Context, t Turn) (Outcome, error)
}

// PersistentProtocol is a protocol whose agents may outlive a turn.
type PersistentProtocol interface {
	// Pool returns the pool of the persistent agents; nil: there are none.
	Pool() ProcessPool
}

// ProcessPool is a warm.Pool of any type of process. A chat is an Envelope.SessionKey.
type ProcessPool interface {
	// Idle returns the chats whose agents no turn uses, with the IDs of the people whose messages
	// each agent has worked on.
	Idle() map[string][]string
	// End ends the agent of a chat, unless a turn uses it, without waiting for its death.
	End(chat string)
	// Restarts returns how many agents were started again because there was no room to keep them,
	// and the key of the limit for which the last one had been ended.
	Restarts() (count int, key string)
	// Close ends all agents that no turn uses and returns when they are dead. A turn after it
	// works, and keeps nothing.
	Close()
}

// CommandStopper is a protocol whose persistent agents may leave commands running between turns.
// StopCommands ends those of a chat, which is an Envelope.SessionKey, and returns how many it
// ended, and whether it told the agent to stop other work. It must return quickly.
type CommandStopper interface {
	StopCommands(chat string) (ended int, told bool)
}

// LeftCommandEnder is a protocol whose agents may run commands on although their turn was stopped.
type LeftCommandEnder interface {
	// LeftCommands returns those commands of a chat's agent.
	LeftCommands(chat string) []string
	// EndLeftCommands ends them, also during another turn of the chat, and returns how many it has
	// ended. It must return within seconds.
	EndLeftCommands(chat string) (ended int)
}

// Restarter is a protocol that keeps a conversation of a chat which ends when the person starts a
// new one. EndSession ends it, or makes the running turn end it. It must return quickly.
type Restarter interface {
	EndSession(chat string)
}

// Turn is one incoming message to be worked on by the agent.
type Turn struct {
	Envelope Envelope
	// Run identifies the message permanently: it stays the same when the message is run again.
	Run         string
	Words       words.Words // for the person
	FittingSize string      // see Request
	Settings
	Chat
	Host
}

// Settings are the parts of an agent's configuration that all protocols follow.
type Settings struct {
	// Stdin selects what an agent that is started for one message reads: "text", "none", or
	// otherwise the envelope.
	Stdin string
	// Interactive says that the agent may ask questions, and PassMedia that injections include
	// their files.
	Interactive, PassMedia bool
	// MaxLine is the longest line of output, and MaxOutput the most plain text that is kept, in
	// bytes.
	MaxLine, MaxOutput int
	// Final configures the final response.
	Final FinalOptions
}

// Host starts processes for a turn.
type Host interface {
	// Launch starts the command. Some protocols start it more than once. When ctx ends, the agent
	// is killed: at once after a timeout, otherwise by SIGTERM and later SIGKILL.
	Launch(ctx context.Context, in Input) (*Agent, error)
	// LaunchPersistent starts a process that outlives this turn, until the protocol ends it. A
	// later turn that uses the process reports it as Launched.
	LaunchPersistent(o PersistentOptions) (*Agent, error)
	// ExecEnv returns the execution environment of the agent.
	ExecEnv() ExecEnv
	// PauseTimeout stops the turn's clock until resume is called, while the turn waits for a person
	// and not for the agent.
	PauseTimeout() (resume func())
	// Redact replaces the secrets that the gateway knows in a text.
	Redact(text string) string
	// FindLinks returns the links and images of a Markdown text.
	FindLinks(markdown string) []Link
}

// PersistentOptions configures a process that Host.LaunchPersistent starts.
type PersistentOptions struct {
	Args []string // the program and its arguments; nil: the agent's command
	Env  []string // added to the environment of the chat's agent
	// Terminal is the size of the process's pseudo-terminal; nil: it has pipes.
	Terminal *process.Size
}

// ExecEnv is the execution environment of an agent: folders, variables, shell, user and sandbox.
type ExecEnv struct {
	Dir   string   // its working folder
	Place string   // Dir below the workspace, if the message has a Place; "": the agent's own folder
	Roots []string // folders that it may use
	Env   []string // of processes that are started for it
	Shell string
	// MCPServers are the configured MCP servers that the agent is told to use.
	MCPServers []MCPServer
	// Private are the gateway's own files and folders, and Chats the folders of all chats. The
	// agent has no access to Private, nor to the folder of another chat.
	Private []string
	Chats   []media.ChatFolders
	// Protected are the files that the agent changes only if a person agrees to the change.
	Protected media.Protected
	// User is the user that the agent runs as; nil: the gateway's own.
	User *syscall.Credential
	// ApplySandbox returns process options with the same limits and sandbox as the agent's. It is
	// never nil in a turn.
	ApplySandbox func(process.Options) process.Options
}

// Input is the standard input of a launched command.
type Input struct {
	First []byte
	// KeepOpen leaves stdin open after First, for Agent.Write.
	KeepOpen bool
	// onStop, if not nil, is called with the cause when ctx has ended and the command was
	// signalled.
	onStop context.CancelCauseFunc
	// onAllExited, if not nil, is called when the command and all its descendants have exited, if
	// that is known before their output is read.
	onAllExited func()
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

// Partial is the beginning of the next Message, as far as the agent has written it. Channels that
// cannot show it drop it.
const Partial Kind = "partial"

// Frame is one item of an agent's output. Text is as the agent wrote it, except that Emit gets an
// Error with the text that the user reads.
type Frame struct {
	Kind Kind
	Text string
	// Format is that of the text of a Message, a Partial or an Error.
	Format Format
	// Board says that a Progress is the complete state of the turn, repeated with every change. It
	// is shown only where it can replace the one before.
	Board bool
	// Preview says that a Board shows output which the final response repeats. It is shown only
	// where it disappears again.
	Preview bool
	// TakenOver says that a person types into the Screen of a Board. It is shown also to people who
	// otherwise want no board.
	TakenOver bool
	// Screen is a terminal screen that is shown below the text of a Board or a Message; nil: none.
	Screen *screen.Snapshot
	// Live says that Screen is the live screen of the chat: one message, which is edited in this
	// turn and in later ones. A Message with it ends that of the turn.
	Live bool
	// Buttons are commands that a Board or a Message offers.
	Buttons []ControlButton
	// Choices are texts that a Message offers as buttons. A press is the person's next message.
	Choices []string
	// Step is the number of the step that a Progress shows; 0: it counts no steps.
	Step int
	// Fold, of the last Board of a turn, is what stays of the board after the turn; nil: nothing.
	Fold *Fold
	// Silent says that a Message notifies nobody: more of the turn follows.
	Silent bool
	// Sequence numbers a Message or an Error among all attempts at the person's message: one with
	// the number and the content of an earlier attempt's is not sent again, except for parts that
	// failed. 0: it is counted from the beginning of this attempt.
	Sequence int
	// StillRunning says of the Error that ends a turn which was stopped that commands of the agent
	// still run, which people may end.
	StillRunning bool
	Code         string // of an Error
	Level        string // of a Log: debug, info, warning or error
	// Audit says that a Log is a decision for the audit log.
	Audit bool
	// Mistake, of a Log, is the mistake in the agent's output that it warns of; nil: none.
	Mistake *Mistake
	Media   []string // of a Message: paths that the agent named
	// Links are files that the text of a Message links to: absolute paths, or relative ones from
	// the agent's working folder. Those that may be sent are sent after Media, each once in a turn.
	// The others are ignored, since the text names them.
	Links []string
	// GroupDocuments says that the documents of a Message are sent in albums, like its pictures.
	GroupDocuments bool
	// ProtocolDir is a folder of the protocol with files of Media that the protocol itself has
	// written. They need not be inside mediaRoots.
	ProtocolDir string
	// MediaRequired says that a Message is not sent without all of its Media: Emit returns an
	// error.
	MediaRequired bool
	// Own says that nanobot says the text of a Message, because the agent has said nothing.
	Own bool
	// Appended is what nanobot itself has appended to the text of a Message or an Error: remarks,
	// stderr and the exit code.
	Appended string
	// Heard, of an Own Message, is shown instead of Text, and Speech says that Media has the answer
	// as speech. All attempts at the person's message show each once, and no transcript has them.
	Heard  []Heard
	Speech bool
	// Guessed says that Media were found in text, so that a missing file is no mistake.
	Guessed bool
	// Checked are the files of Media and Links that may be sent. The runner sets it for what an
	// agent sends, and closes the files when Emit has returned.
	Checked []File
}

// Link is a link or an image in a Markdown text.
type Link struct {
	Text string // what the reader sees
	URL  string
}

// Fold sums up the steps of a turn.
type Fold struct {
	Steps, Files int    // tool calls or commands, and files that were changed
	Cost         string // as people read it, such as "$0.12"; "": unknown
	Details      string // Markdown: a line for each step, and the end of each command's output
	// Changes is the beginning of Details, with the changed files and their diff; "": none.
	Changes string
	// Required says that Details has content which no message has, so that the fold is a message if
	// the turn has no board.
	Required bool
}

// Status is how a turn ended.
type Status string

// The ways a turn ends.
const (
	Done     Status = "done"
	Failed   Status = "failed"  // error frame, non-zero exit or signal
	TimedOut Status = "timeout" // killed after the timeout
	Stopped  Status = "stopped" // ended by a person or the daemon
	Refused  Status = "refused" // a person has refused its last step
	Silent   Status = "silent"  // the agent ended it without a word
)

// Statuses are the texts of all ways a turn ends.
var Statuses = map[Status]words.Key{
	Done: words.OutcomeDone, Failed: words.OutcomeFailed, TimedOut: words.OutcomeTimeout,
	Stopped: words.OutcomeStopped, Refused: words.OutcomeRefused, Silent: words.OutcomeSilent,
}

// StoppedCode is the code of the error frame that ends a turn which was told to stop.
const StoppedCode = "STOPPED"

// Outcome is how a turn ended, for exit statuses and records; the user has been told by frames.
type Outcome struct {
	Status   Status
	ExitCode int
	Signal   string
	Stderr   string // its end
	// Unread is how many of the received injections, counted from the last, the agent had not read
	// when it ended.
	Unread int
	// Memory is the peak in bytes, 0 if unknown; CPU is the processor time. The runner sets both.
	Memory int64
	CPU    time.Duration
}

// ErrTimeout is the cause of a turn's context after its timeout.
var ErrTimeout = errors.New("timed out")
