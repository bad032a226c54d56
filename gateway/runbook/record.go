package runbook

import (
	"encoding/json"
	"slices"
	"strings"
)

// The states of a record.
const (
	Succeeded    = "success"
	FailedProof  = "failed"  // the step is not required
	SkippedProof = "skipped" // skipped by a person, with a reason
)

// timeFormat is the format of times in records.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// Entry is a stored record: a line of JSON, whose hash is the proof hash.
type Entry struct {
	Record    string `json:"record"`
	ProofHash string `json:"proof_hash"`
	// Word is whose word the proof is. Only exports have it; the record says it in By.
	Word Word `json:"word,omitempty"`
	// Forgotten, if not nil, says that the text of the record was removed.
	Forgotten *Forgotten `json:"forgotten,omitempty"`
}

// Record is the record of a proved step.
type Record struct {
	Run         string          `json:"run"`
	Runbook     string          `json:"runbook"`      // its label
	RunbookHash string          `json:"runbook_hash"` // of the text at the start of the run
	Step        int             `json:"step"`
	Label       string          `json:"label"`
	Type        string          `json:"type"`
	Required    bool            `json:"required"`
	Status      string          `json:"status"`
	ExecutedAt  string          `json:"executed_at"`
	Nonce       string          `json:"nonce"`
	Previous    string          `json:"previous"` // the hash of the previous record
	By          string          `json:"by"`
	Reason      string          `json:"reason,omitempty"` // why the step was skipped
	Challenge   json.RawMessage `json:"challenge"`        // as defined
	Shell       json.RawMessage `json:"shell,omitempty"`
	MCP         json.RawMessage `json:"mcp,omitempty"`
	UserInput   json.RawMessage `json:"user_input,omitempty"`
	Comment     json.RawMessage `json:"comment,omitempty"`
}

// Parse parses the record.
func (e Entry) Parse() (Record, error) {
	var r Record
	err := json.Unmarshal([]byte(e.Record), &r)
	return r, err
}

// proof is the content of the record of the current step.
type proof struct {
	status, by, reason string
	solution           object
}

// recordProof adds a record of the current step and enters the next one.
func (r *Run) recordProof(p proof, env Env) Answer {
	step, _ := r.CurrentStep()
	record := Record{
		Run: r.ID, Runbook: r.book.Label, RunbookHash: r.Hash, Step: step.Index, Label: step.Label,
		Type: step.Challenge.Type, Required: step.Challenge.Required, Status: p.status,
		ExecutedAt: env.Now.UTC().Format(timeFormat), Nonce: r.Issued.Nonce, Previous: r.LastHash(),
		By: p.by, Reason: p.reason, Challenge: step.Definition,
	}
	record.setSolution(p.solution)
	// A solution may contain bytes that are not UTF-8, which would not survive the export.
	text := strings.ToValidUTF8(string(mustEncode(record)), "\ufffd")
	entry := Entry{Record: text, ProofHash: hashText(text)}
	r.Records = append(slices.Clip(r.Records), entry)
	r.acceptStep(record.Previous, entry.ProofHash, env)
	a := r.showAnswer(Advanced)
	a.ProofHash = entry.ProofHash
	return a
}

// setSolution copies the field of the solution that belongs to the record's type.
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

// solution returns the recorded solution.
func (r *Record) solution() object {
	o := object{"type": mustEncode(r.Type)}
	for name, value := range map[string]json.RawMessage{
		Shell: r.Shell, MCP: r.MCP, UserInput: r.UserInput,
		Comment: r.Comment,
	} {
		if value != nil {
			o[name] = value
		}
	}
	return o
}
