package runbook

import (
	"encoding/json"
	"slices"
	"strings"
)

// The states of a record.
const (
	Succeeded    = "success"
	FailedProof  = "failed"  // of a step that is not required
	SkippedProof = "skipped" // by a person, with a reason
)

// timeForm is how records tell the time.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// Entry is a record as it is stored: the line of JSON whose hash is the proof hash.
type Entry struct {
	Record    string `json:"record"`
	ProofHash string `json:"proof_hash"`
}

// Record is what is recorded of a step that was proved.
type Record struct {
	Run         string          `json:"run"`
	Runbook     string          `json:"runbook"`      // its label
	RunbookHash string          `json:"runbook_hash"` // of the text that the run began with
	Step        int             `json:"step"`
	Label       string          `json:"label"`
	Type        string          `json:"type"`
	Required    bool            `json:"required"`
	Status      string          `json:"status"`
	ExecutedAt  string          `json:"executed_at"`
	Nonce       string          `json:"nonce"`
	Previous    string          `json:"previous"` // the hash of the record before
	By          string          `json:"by"`
	Reason      string          `json:"reason,omitempty"` // why the step was skipped
	Challenge   json.RawMessage `json:"challenge"`        // as defined
	Shell       json.RawMessage `json:"shell,omitempty"`
	MCP         json.RawMessage `json:"mcp,omitempty"`
	UserInput   json.RawMessage `json:"user_input,omitempty"`
	Comment     json.RawMessage `json:"comment,omitempty"`
}

// Parse reads the record.
func (e Entry) Parse() (Record, error) {
	var r Record
	err := json.Unmarshal([]byte(e.Record), &r)
	return r, err
}

// proof is what is recorded about the present step.
type proof struct {
	status, by, reason string
	solution           object
}

// record makes a record of the present step and enters the next one.
func (r *Run) record(p proof, env Env) Answer {
	step, _ := r.Present()
	record := Record{
		Run: r.ID, Runbook: r.book.Label, RunbookHash: r.Hash, Step: step.Index, Label: step.Label,
		Type: step.Challenge.Type, Required: step.Challenge.Required, Status: p.status,
		ExecutedAt: env.Now.UTC().Format(timeForm), Nonce: r.Issued.Nonce, Previous: r.LastHash(),
		By: p.by, Reason: p.reason, Challenge: step.Definition,
	}
	record.setSolution(p.solution)
	// A solution may hold bytes that are no UTF-8, which would not survive the export.
	text := strings.ToValidUTF8(string(marshal(record)), "\ufffd")
	entry := Entry{text, hashText(text)}
	r.Records = append(slices.Clip(r.Records), entry)
	r.accept(record.Previous, entry.ProofHash, env)
	a := r.show(Advanced)
	a.ProofHash = entry.ProofHash
	return a
}

// setSolution copies the part of a solution that belongs to the record's type.
func (r *Record) setSolution(solution object) {
	value := solution[r.Type]
	switch r.Type {
	case Shell:
		r.Shell = value
	case MCP:
		r.MCP = value
	case UserInput:
		r.UserInput = value
	case Comment:
		r.Comment = value
	}
}

// solution returns the recorded part of the solution.
func (r *Record) solution() object {
	o := object{"type": marshal(r.Type)}
	for name, value := range map[string]json.RawMessage{Shell: r.Shell, MCP: r.MCP, UserInput: r.UserInput, Comment: r.Comment} {
		if value != nil {
			o[name] = value
		}
	}
	return o
}
