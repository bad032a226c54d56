// Package terminal runs micro-agents: it holds the contract of the protocols that talk with an agent, the
// envelope and the frames, and the runner that starts the configured command for one turn.
// It knows nothing of chat networks, queues or storage.
package terminal

import (
	"context"
	"errors"
)

// Protocol is how the gateway talks with the agent. The runner calls Turn once a turn, from many goroutines.
type Protocol interface {
	// Turn carries one message to the agent and what it says back to Emit. What the agent did wrong is a
	// frame and an outcome; an error is what we could not do. When it returns, every process it launched
	// is dead and reaped.
	Turn(ctx context.Context, t Turn) (Outcome, error)
}

// Turn is one incoming message to be worked on by the agent.
type Turn struct {
	Envelope Envelope
	// Launch starts the command. Some protocols start it more than once. When ctx ends the agent is killed: at
	// once if the time is up, politely otherwise.
	Launch func(ctx context.Context, in Input) (*Agent, error)
	// Emit takes one frame, in order, and returns once it is safe. It works after ctx has ended too, since
	// what was already printed is still delivered.
	Emit func(Frame) error
	// Ask is never nil.
	Ask Ask
	// Interactive says that the agent may ask.
	Interactive bool
	// Inject has what the person writes while the agent is at work; nil if that is not for this turn. A protocol takes
	// from it only while the agent reads, and never after the turn. What it took and the agent had not read in
	// the end is counted in Outcome.Unread.
	Inject <-chan Injection
	// PassMedia says whether injections carry their media.
	PassMedia bool
	// Final says how the end of a turn is told to this chat.
	Final Final
	// MaxLine is the longest line of output in bytes, MaxOutput the most plain text that is kept.
	MaxLine, MaxOutput int
}

// Input is what a launched command finds on its stdin.
type Input struct {
	First []byte
	// Keep leaves stdin open behind First, for Agent.Write.
	Keep bool
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

// Frame is one thing an agent says. Text is as the agent wrote it, except in an Error that Emit gets, where it
// is what the user reads.
type Frame struct {
	Kind  Kind
	Text  string
	Code  string   // of an Error
	Level string   // of a Log: debug, info, warning or error
	Media []string // of a Message: paths the agent named
	// Guessed says that Media were found in text and not named on purpose, so that one that does not exist
	// is no mistake.
	Guessed bool
	// Checked are the files of Media that may be sent. The runner sets it.
	Checked []File
}

// File is a file that an agent sends and that passed the checks.
type File struct {
	Path string
	Size int64
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
	// Unread is how many of the injections that were taken, counted from the last, the agent had not read when it ended.
	Unread int
}

// ErrTimeout is the cause of a turn's context when its time is up.
var ErrTimeout = errors.New("timed out")
