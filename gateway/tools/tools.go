// Package tools serves a chat and the runbooks to an agent as tools of the Model Context Protocol.
// It serves one connection at a time, and knows neither sockets nor processes: the caller decides
// which chat a connection acts for.
package tools

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/runbook"
	"nanobot/gateway/schedule"
	"nanobot/terminal"
)

// Chat is the chat that a connection acts for. Its methods are called concurrently. ctx ends with
// the connection, and the methods then return. They enforce rate limits. The text of an error is
// shown to the agent.
type Chat interface {
	// Name returns channel:id, as in runbook.Run.Chat.
	Name() string
	// Send sends a message: a text, an album of files with captions, or both.
	Send(ctx context.Context, m Message) error
	// Ask asks the person a question and waits for the answer.
	Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error)
	// Progress shows in the chat what the agent is doing.
	Progress(ctx context.Context, text string) error
	// Search returns at most limit messages of the chat that match a query, newest first. An empty
	// query matches all.
	Search(ctx context.Context, query string, limit int) ([]HistoryMessage, error)
	// Schedule makes a schedule for the chat. With prompt, its text is given to the agent at that
	// time instead of being sent. Schedules returns those of the chat, and CancelSchedule removes
	// one that was made in it.
	Schedule(ctx context.Context, s schedule.Spec, prompt bool) (schedule.Listed, error)
	Schedules(ctx context.Context) ([]schedule.Listed, error)
	CancelSchedule(ctx context.Context, name string) error
	// Zone is the time zone of times without one.
	Zone() *time.Location
}

// Message is a message of an agent to the chat. At least one of its fields is set.
type Message struct {
	Text  string
	Files []File
}

// File is a file of a message. The chat decides whether it may be sent.
type File struct {
	Path    string `json:"path"` // as the agent wrote it; may be relative
	Caption string `json:"caption,omitempty"`
}

// HistoryMessage is a message of the chat's history.
type HistoryMessage struct {
	Role string    `json:"role"` // user or agent
	Text string    `json:"text"`
	Time time.Time `json:"time"`
}

// RateLimitError means that a Chat or Options.Decide refuses a call because of a rate limit. Its
// text is shown to the agent and says when to try again.
type RateLimitError struct{ Reason string }

// Error returns the reason.
func (e *RateLimitError) Error() string { return e.Reason }

// ErrDeclined means that a person has refused a command.
var ErrDeclined = errors.New("a person has refused this command")

// NotAskedError means that Options.Decide or Options.PermitCommand could not ask anybody; Err says
// why. Its text is shown to the agent.
type NotAskedError struct{ Err error }

// Error returns the reason.
func (e *NotAskedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NotAskedError) Unwrap() error { return e.Err }

// Options configures a connection.
type Options struct {
	Runs   runbook.Runs
	Folder runbook.Folder // the runbooks of the workspace
	Chat   Chat           // nil: no chat, and no tools of a chat
	By     string         // agent, gateway or channel:id; "" means the agent
	// AskTool is the name of the tool ask_user; "": that one.
	AskTool string

	// Decide asks the user_input question of a run's current step in its chat, unless it is open,
	// and waits until that step is decided. A *NotAskedError counts as a failure of the step; any
	// other error, such as a *RateLimitError, leaves the run unchanged. nil: runs of a chat cannot
	// be approved here.
	Decide func(ctx context.Context, run string, step int) error
	// CheckShell runs the command of a shell step that an agent reports as successful. An error
	// leaves the step unchanged. nil: the reports of agents are trusted.
	CheckShell func(ctx context.Context, run, command string, timeout time.Duration) (runbook.ShellProof, error)
	// PermitCommand asks whether nanobot may run the command of a runbook that an agent has
	// written; no error permits it. ErrDeclined and a *NotAskedError count as a failure of the
	// step; any other error leaves the run unchanged. nil: nobody can be asked here.
	PermitCommand func(ctx context.Context, label, command string) error
	// AdmitWrites is called before so many runbooks are stored, or a run is started. It returns a
	// *RateLimitError if that happens too often. nil: only the connection itself is limited.
	AdmitWrites func(n int) error
	// Audit, if not nil, is called after each call of a tool.
	Audit func(tool string, err error)
	Log   *zap.Logger
}
