package runbook

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Challenge is the challenge of a step as shown to an agent.
type Challenge struct {
	Type        string              `json:"type"`
	Description string              `json:"description"`
	Shell       *ShellChallenge     `json:"shell,omitempty"`
	MCP         *MCPChallenge       `json:"mcp,omitempty"`
	UserInput   *UserInputChallenge `json:"user_input,omitempty"`
	Comment     *CommentChallenge   `json:"comment,omitempty"`
	Nonce       string              `json:"nonce"`
	ProofHash   string              `json:"proof_hash"` // required in the solution
}

// ShellChallenge is a command that must be executed.
type ShellChallenge struct {
	Command        string  `json:"cmd"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
}

// MCPChallenge is a tool that must be called.
type MCPChallenge struct {
	Tool           string          `json:"tool_name"`
	ExpectedResult json.RawMessage `json:"expected_result,omitempty"`
}

// UserInputChallenge is a question to one or several people.
type UserInputChallenge struct {
	Prompt    string `json:"prompt"`
	Approvals int    `json:"approvals,omitempty"` // only if more than one person must approve
}

// CommentChallenge is a text that must be written.
type CommentChallenge struct {
	MinLength float64 `json:"min_length"`
}

// noDefinition is the description of a step that needs no proof.
const noDefinition = "Provide a verification comment describing how you completed this step"

// Timeout returns the time limit of a shell challenge's command.
func (d *Definition) Timeout() time.Duration {
	return time.Duration(min(d.TimeoutSeconds*float64(time.Second), math.MaxInt64/2))
}

// challenge returns the challenge of a step without its nonce and hash.
func (s *Step) challenge() Challenge {
	d := s.Challenge
	if d == nil {
		return Challenge{Type: Comment, Description: noDefinition}
	}
	c := Challenge{Type: d.Type}
	switch d.Type {
	case Shell:
		c.Description = "Execute shell command: " + d.Command
		c.Shell = &ShellChallenge{d.Command, d.TimeoutSeconds}
	case MCP:
		c.Description = "Call MCP tool: " + d.Tool
		c.MCP = &MCPChallenge{d.Tool, d.ExpectedResult}
	case UserInput:
		c.Description = "User confirmation: " + d.Prompt
		c.UserInput = &UserInputChallenge{Prompt: d.Prompt}
		if d.Approvals > 1 {
			c.UserInput.Approvals = d.Approvals
		}
	case Comment:
		c.Description = "Provide a verification comment (minimum " + formatNumber(d.MinLength) + " characters)"
		c.Comment = &CommentChallenge{d.MinLength}
	}
	return c
}

// formatNumber formats a number without an exponent.
func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
