package runbook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Export is the output of `nanobot runbook export`: everything that is needed to verify a run.
type Export struct {
	Version int             `json:"version"`
	Run     string          `json:"run"`
	Runbook ExportedRunbook `json:"runbook"`
	Status  Status          `json:"status"`
	Records []Entry         `json:"records"`
	// PublicKey is the ed25519 key of the bot, and Signature that of signedText.
	PublicKey []byte `json:"public_key,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// ExportedRunbook is the runbook with its text at the start of the run.
type ExportedRunbook struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Export returns the records of the run and the text that they prove, without a signature.
func (r Run) Export() Export {
	e := Export{
		Version: runVersion, Run: r.ID, Runbook: ExportedRunbook{r.book.Label, r.Text}, Status: r.Status,
		Records: append([]Entry{}, r.Records...),
	}
	for i := range e.Records {
		if record, err := e.Records[i].Parse(); err == nil {
			e.Records[i].Word = record.Word()
		}
	}
	return e
}

// ForgottenSteps returns the steps whose records were forgotten.
func (e Export) ForgottenSteps() (steps []int) {
	for _, entry := range e.Records {
		if entry.Forgotten != nil {
			steps = append(steps, entry.Forgotten.Step)
		}
	}
	return steps
}

// LastHash returns the hash of the last record.
func (e Export) LastHash() string { return lastHash(e.Records) }

// TextHash returns the hash of the runbook's text.
func (e Export) TextHash() string { return hashText(e.Runbook.Text) }

// Encode returns the export as one line of JSON.
func (e Export) Encode() string { return string(mustEncode(e)) }

// DecodeExport parses an export. Fields that no export has are an error, since no signature covers
// them.
func DecodeExport(text string) (Export, error) {
	var e Export
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&e)
	if err == nil && decoder.More() {
		err = errors.New("something follows it")
	}
	if err != nil {
		return Export{}, fmt.Errorf("read export: %w", err)
	}
	return e, nil
}

// RecordError means that the record of a step is wrong or missing.
type RecordError struct {
	Step    int    `json:"step"` // 0 if it is about no record
	Label   string `json:"label"`
	Message string `json:"message"`
}

// Error returns the message with the step.
func (w *RecordError) Error() string {
	if w.Step == 0 {
		return w.Message
	}
	return fmt.Sprintf("step %d, %s: %s", w.Step, w.Label, w.Message)
}

// Verify checks the records of a run against the runbook's text, and returns the hash of the last
// record. The error is a *RecordError. If all records were rewritten, the returned hash differs
// from the one in the chat.
func Verify(e Export) (string, error) {
	if e.Version != runVersion {
		return "", &RecordError{Message: fmt.Sprintf("version %d is unknown", e.Version)}
	}
	book, mistakes, _ := Parse(e.Runbook.Text)
	if len(mistakes) > 0 || book.Text != e.Runbook.Text || book.Label != e.Runbook.Label {
		return "", &RecordError{Message: "the runbook's text or label was changed"}
	}
	v := verifier{Export: e, book: book, previous: Genesis}
	for _, s := range book.Steps {
		if s.needsProof() {
			v.proofSteps = append(v.proofSteps, s)
		}
	}
	if wrong := v.verify(); wrong != nil {
		return "", wrong
	}
	return v.previous, nil
}

// Verify checks the records of a stored run. For an open run it also detects that the last record
// was removed.
func (r Run) Verify() (string, error) {
	last, err := Verify(r.Export())
	if err != nil {
		return "", err
	}
	recorded := 0
	for _, a := range r.Accepted {
		if a.ProofHash == "" {
			continue
		}
		if recorded >= len(r.Records) || r.Records[recorded].ProofHash != a.ProofHash {
			return "", &RecordError{a.Step, r.book.Steps[a.Step-1].Label, "its record is not the one that was accepted"}
		}
		recorded++
	}
	if recorded < len(r.Records) {
		return "", &RecordError{Message: "there are more records than steps that were accepted"}
	}
	return last, nil
}

// verifier follows the hash chain of an export.
type verifier struct {
	Export
	book       Runbook
	proofSteps []Step // the steps that need a proof
	previous   string // the hash of the last record
}

func (v *verifier) verify() *RecordError {
	for i, entry := range v.Records {
		if wrong := v.verifyEntry(i, entry); wrong != nil {
			return wrong
		}
		v.previous = entry.ProofHash
	}
	if v.Status == Complete && len(v.Records) < len(v.proofSteps) {
		return stepError(v.proofSteps[len(v.Records)], "its record is missing")
	}
	return nil
}

func stepError(s Step, message string) *RecordError { return &RecordError{s.Index, s.Label, message} }

// verifyEntry checks one record: its hash, its step, and its position in the chain.
func (v *verifier) verifyEntry(i int, entry Entry) *RecordError {
	record, err := entry.Parse()
	if i >= len(v.proofSteps) {
		return &RecordError{record.Step, record.Label, "its record was added"}
	}
	step := v.proofSteps[i]
	if f := entry.Forgotten; f != nil {
		if entry.Record != "" || entry.ProofHash == "" || f.Step != step.Index || f.Previous != v.previous {
			return stepError(step, "its forgotten record was changed or moved")
		}
		return nil
	}
	if hashText(entry.Record) != entry.ProofHash || err != nil {
		return stepError(step, "its record was changed: the hash differs")
	}
	if record.Step != step.Index {
		return v.misplacedError(i, record)
	}
	if record.Previous != v.previous {
		if i > 0 {
			step = v.proofSteps[i-1]
			return stepError(step, fmt.Sprintf("its record was changed: the record of step %d, %s, follows another one",
				record.Step, record.Label))
		}
		return stepError(step, "its record is not the first one of the run")
	}
	if entry.Word != "" && entry.Word != record.Word() {
		return stepError(step, fmt.Sprintf("its proof is the word of the %s, and not of the %s", record.Word(), entry.Word))
	}
	if err := v.compareRecord(record, step); err != nil {
		return stepError(step, "its record was changed: "+err.Error())
	}
	return nil
}

// misplacedError returns what is wrong with a record in the position of another one.
func (v *verifier) misplacedError(i int, record Record) *RecordError {
	if record.Step < v.proofSteps[i].Index {
		return &RecordError{record.Step, record.Label, "its record was added or moved"}
	}
	for _, entry := range v.Records[i+1:] {
		if later, err := entry.Parse(); err == nil && later.Step == v.proofSteps[i].Index {
			return stepError(v.proofSteps[i], "its record was moved")
		}
	}
	if !v.needsProof(record.Step) {
		return &RecordError{record.Step, record.Label, "its record was added: the step asks for no proof"}
	}
	return stepError(v.proofSteps[i], "its record is missing")
}

func (v *verifier) needsProof(step int) bool {
	return step >= 1 && step <= len(v.book.Steps) && v.book.Steps[step-1].needsProof()
}

// compareRecord checks that a record belongs to this run and this step.
func (v *verifier) compareRecord(r Record, s Step) error {
	var challenge bytes.Buffer
	if json.Compact(&challenge, r.Challenge) != nil || !bytes.Equal(challenge.Bytes(), s.Definition) {
		return errors.New("the challenge is not that of the runbook")
	}
	switch {
	case r.Run != v.Run:
		return errors.New("it belongs to another run")
	case r.Runbook != v.book.Label || r.RunbookHash != v.book.Hash:
		return errors.New("the runbook's text is another one")
	case r.Label != s.Label || r.Type != s.Challenge.Type || r.Required != s.Challenge.Required:
		return errors.New("the step is another one in the runbook")
	case r.Nonce == "" || r.By == "" || r.ExecutedAt == "":
		return errors.New("it is not whole")
	}
	return compareStatus(r, s)
}

// compareStatus checks that the status matches the recorded solution.
func compareStatus(r Record, s Step) error {
	why := s.Challenge.checkSolution(r.solution())
	var fits bool
	switch r.Status {
	case Succeeded:
		fits = why == nil && countApprovers(r) >= s.Challenge.Approvals
	case FailedProof:
		fits = why != nil && why.code == CommandFailed && !s.Challenge.Required
	case SkippedProof:
		fits = r.Reason != "" && len(r.solution()) == 1 // only the type
	}
	if !fits {
		return errors.New("the status is not what the solution says")
	}
	return nil
}

// countApprovers returns the number of people in a record.
func countApprovers(r Record) int {
	var input userInput
	if json.Unmarshal(r.UserInput, &input) != nil || len(input.Approvals) == 0 {
		return 1
	}
	people := map[string]bool{}
	for _, a := range input.Approvals {
		people[a.By] = true
	}
	return len(people)
}
