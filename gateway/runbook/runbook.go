// Package runbook parses and executes runbooks: a runbook is a Markdown document whose steps must
// be proved in order, and a run is one execution of it. The engine is a state machine whose
// transitions are pure functions. It asks nobody, runs no commands, and knows neither chats nor
// MCP.
package runbook

import "encoding/json"

// Runbook is a parsed runbook.
type Runbook struct {
	Label        string // the text of its H1
	Introduction string // the text before the first H2
	Text         string // the whole document
	Hash         string // SHA-256 of the text, in hex
	Steps        []Step
}

// Step is one section of a runbook, in the form that `nanobot runbook check --json` prints.
type Step struct {
	Index int    `json:"index"` // counted from 1
	Label string `json:"label"`
	Body  string `json:"body"` // without the challenge
	// Definition is the challenge as written, with an explicit `required`; nil if the step needs no
	// proof.
	Definition json.RawMessage `json:"challenge,omitempty"`
	// Challenge is the parsed definition with its defaults; nil if the step needs no proof.
	Challenge *Definition `json:"-"`
	Line      int         `json:"-"` // of the heading
}

// Problem is an error or a warning about a runbook's text.
type Problem struct {
	Line    int    `json:"line"`
	Step    string `json:"step"` // the label of the step; "" outside the steps
	Message string `json:"message"`
}

// The types of challenges.
const (
	Shell     = "shell"
	MCP       = "mcp"
	UserInput = "user_input"
	Comment   = "comment"
)

// Definition is a parsed challenge.
type Definition struct {
	Type     string
	Required bool

	Command        string  // of a shell challenge
	TimeoutSeconds float64 // of a shell challenge

	Tool           string          // of an mcp challenge
	ExpectedResult json.RawMessage // of an mcp challenge; nil if not defined

	Prompt    string // of a user_input challenge
	Approvals int    // people who must approve a user_input challenge

	MinLength float64 // of a comment challenge
}

// needsProof reports whether the step must be proved.
func (s *Step) needsProof() bool { return s.Challenge != nil }
