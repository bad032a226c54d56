// Package runbook reads runbooks and executes them: a runbook is a Markdown document whose steps
// must be proved in order, and a run is one execution of it. The engine is a state machine whose
// transitions are pure functions; it asks nobody, runs no command and knows neither chats nor MCP.
package runbook

import "encoding/json"

// Runbook is a document that was read.
type Runbook struct {
	Label        string // of its H1
	Introduction string // what stands before the first H2
	Text         string // the whole document
	Hash         string // sha256 of the text, in hex
	Steps        []Step
}

// Step is one section of a runbook, in the form that `nanobot runbook check --json` prints.
type Step struct {
	Index int    `json:"index"` // the first one is 1
	Label string `json:"label"`
	Body  string `json:"body"` // without the challenge
	// Definition is the challenge as it was written, but for `required`, which is always there. It
	// is nil if the step asks for no proof.
	Definition json.RawMessage `json:"challenge,omitempty"`
	// Challenge is the definition that was read, with its defaults; nil if the step asks for no
	// proof.
	Challenge *Definition `json:"-"`
	Line      int         `json:"-"` // of the heading
}

// Problem is a mistake in a runbook's text.
type Problem struct {
	Line    int    `json:"line"`
	Step    string `json:"step"` // the label of the step; empty outside the steps
	Message string `json:"message"`
}

// The types of challenges.
const (
	Shell     = "shell"
	MCP       = "mcp"
	UserInput = "user_input"
	Comment   = "comment"
)

// Definition is a challenge that was read.
type Definition struct {
	Type     string
	Required bool

	Command        string  // of a shell challenge
	TimeoutSeconds float64 // of a shell challenge

	Tool           string          // of an mcp challenge
	ExpectedResult json.RawMessage // of an mcp challenge; nil if it was not defined

	Prompt    string // of a user_input challenge
	Approvals int    // how many people must approve a user_input challenge

	MinLength float64 // of a comment challenge
}

// asksProof reports whether a step must be proved.
func (s *Step) asksProof() bool { return s.Challenge != nil }
