// Package blocks makes a coding agent of a model without tool calls. A session hands the model a
// text file, the outbox (which is not the gateway's queue of that name), and executes the command
// blocks of its response in the workspace, round after round until the model says that it is done.
// The package knows nothing of chat networks, queues or storage.
package blocks

// CommandType is the name of a command as a response writes it.
type CommandType string

// The commands. ParseError stands for a command that cannot be read.
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
	// Path is the file of CREATE_FILE, EDIT_FILE, DELETE_FILE and READ_FILE, as the response writes
	// it.
	Path string
	// StartLine and EndLine are the lines that EDIT_FILE replaces, counted from 1. They may be
	// negative.
	StartLine, EndLine int
	// Text is the body: the content of a file, the text of a message, a shell command, or what is
	// wrong with a command that cannot be read.
	Text string
}

// Result is how a command ended, as a session keeps it and as the next outbox tells it.
type Result struct {
	Type    CommandType `json:"commandType"`
	Summary string      `json:"summary"`
	Success bool        `json:"success"`
	Output  string      `json:"output"` // of RUN_COMMAND
}
