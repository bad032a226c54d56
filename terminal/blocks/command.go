// Package blocks turns a model without tool calls into a coding agent. A session gives the model a
// text file, the outbox (not the gateway's queue of that name), and executes the command blocks of
// its response in the workspace, in rounds until the model sends DONE. The package knows nothing of
// chat networks, queues or storage.
package blocks

import (
	"nanobot/internal/words"
	"nanobot/terminal/steps"
)

// CommandType is the name of a command in a response.
type CommandType string

// The commands. ParseError stands for a command that cannot be parsed.
const (
	CreateFile CommandType = "CREATE_FILE"
	EditFile   CommandType = "EDIT_FILE"
	DeleteFile CommandType = "DELETE_FILE"
	ReadFile   CommandType = "READ_FILE"
	RunCommand CommandType = "RUN_COMMAND"
	Message    CommandType = "MESSAGE"
	Done       CommandType = "DONE"
	ParseError CommandType = "PARSE_ERROR"
)

// Command is one command of a response.
type Command struct {
	Type CommandType
	// Path is the file of CREATE_FILE, EDIT_FILE, DELETE_FILE and READ_FILE, as written in the
	// response.
	Path string
	// StartLine and EndLine are the lines that EDIT_FILE replaces, counted from 1. They may be
	// negative.
	StartLine, EndLine int
	// Text is the body: the content of a file, the text of a message, a shell command, or the
	// description of a parse error.
	Text string
}

// Result is the result of a command, as stored in the session and shown in the next outbox.
type Result struct {
	Type    CommandType `json:"commandType"`
	Summary string      `json:"summary"`
	Success bool        `json:"success"`
	Output  string      `json:"output"` // of RUN_COMMAND
	// shown is the summary for the person; nil: Summary itself, which is for the model.
	shown   *words.Error
	refused bool // a person has not approved it
}

// newResult returns a result. Its summary for the model is the English text of the catalogue, which
// is part of the protocol.
func newResult(t CommandType, success bool, k words.Key, values ...any) Result {
	shown := words.NewError(k, values...)
	return Result{Type: t, Success: success, Summary: shown.Error(), shown: shown}
}

func (r Result) state() steps.State {
	switch {
	case r.refused:
		return steps.Refused
	case !r.Success:
		return steps.Failed
	}
	return steps.Done
}

// describe returns the summary for the person.
func (r Result) describe(w words.Words) string {
	if r.shown == nil {
		return r.Summary
	}
	return w.Reason(r.shown)
}
