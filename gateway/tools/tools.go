// Package tools serves a chat and the runbooks to an agent as tools of the Model Context Protocol.
// It serves one connection at a time to whoever has opened it, and knows neither sockets nor
// processes: which chat a connection acts for is decided by the caller.
package tools

import (
	"context"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// Chat is the chat that a connection acts for. Its methods are called from several goroutines. They
// return when ctx ends, which it does with the connection, and bound how much is sent. The text of
// an error is shown to the agent.
type Chat interface {
	// Name returns channel:id, as runbook.Run.Chat has it.
	Name() string
	// Send posts a message: a text, an album of files with captions, or both.
	Send(ctx context.Context, m Message) error
	// Ask puts a question to the person and waits for the answer.
	Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error)
	// Progress shows in the chat what the agent does now.
	Progress(ctx context.Context, text string) error
	// Search returns at most limit messages of the chat that match a query, the newest first. An
	// empty query matches all.
	Search(ctx context.Context, query string, limit int) ([]Found, error)
}

// Message is what an agent sends to the chat: at least one of its fields is set.
type Message struct {
	Text  string
	Files []File
}

// File is a file of a message. Whether it may be sent is decided by the chat.
type File struct {
	Path    string `json:"path"` // as the agent wrote it, so it may be relative
	Caption string `json:"caption,omitempty"`
}

// Found is a message of the chat's history.
type Found struct {
	Role string    `json:"role"` // user or agent
	Text string    `json:"text"`
	Time time.Time `json:"time"`
}

// TooManyError is the error of a Chat, or of Options.Decide, that refuses what is too much for now.
// Its text is shown to the agent and says when to try again.
type TooManyError struct{ Reason string }

// Error returns the reason.
func (e *TooManyError) Error() string { return e.Reason }

// UnaskedError is the error of Options.Decide if nobody can be asked, and why. Its text is shown to
// the agent.
type UnaskedError struct{ Err error }

// Error returns the reason.
func (e *UnaskedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UnaskedError) Unwrap() error { return e.Err }

// Options is what a server needs.
type Options struct {
	Runs   runbook.Runs
	Folder runbook.Folder // of the workspace
	Chat   Chat           // nil: stand-alone, without the tools of a chat
	By     string         // who begins runs: agent, gateway or channel:id; "" is the agent

	// Decide opens the user_input question of a run's present step in its chat, unless it is open,
	// and waits until that step is decided. An *UnaskedError counts as a failure of the step; any
	// other error, such as a *TooManyError, leaves the run as it is. nil: runs of a chat cannot be
	// approved here.
	Decide func(ctx context.Context, run string, step int) error
	// CheckShell executes the command of a shell step of a run, which an agent says to have
	// succeeded. An error leaves the step as it is. nil: what agents report is trusted.
	CheckShell func(ctx context.Context, run, command string, timeout time.Duration) (runbook.ShellProof, error)
	// AdmitWrite refuses what stores a runbook or begins a run too often, with a TooManyError. nil:
	// the connection alone is bounded.
	AdmitWrite func() error
	// Audit is called after each call of a tool. nil: nobody is told.
	Audit func(tool string, err error)
	Log   *zap.Logger
}
