package runbook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Export is a run as `nanobot runbook export` prints it: all that is needed to verify it.
type Export struct {
	Version int             `json:"version"`
	Run     string          `json:"run"`
	Runbook ExportedRunbook `json:"runbook"`
	Status  Status          `json:"status"`
	Records []Entry         `json:"records"`
}

// ExportedRunbook is the runbook with the text that the run began with.
type ExportedRunbook struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Export returns the run's records with the text that they prove.
func (r Run) Export() Export {
	return Export{
		Version: runVersion, Run: r.ID, Runbook: ExportedRunbook{r.book.Label, r.Text}, Status: r.Status,
		Records: append([]Entry{}, r.Records...),
	}
}

// Encode returns the export as one line of JSON.
func (e Export) Encode() string { return string(marshal(e)) }

// DecodeExport reads an export.
func DecodeExport(text string) (Export, error) {
	var e Export
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return Export{}, fmt.Errorf("read export: %w", err)
	}
	return e, nil
}

// WrongRecord is a step whose record is wrong or missing.
type WrongRecord struct {
	Step    int    `json:"step"` // 0 if no record can be blamed
	Label   string `json:"label"`
	Message string `json:"message"`
}

// Error names the step.
func (w *WrongRecord) Error() string {
	if w.Step == 0 {
		return w.Message
	}
	return fmt.Sprintf("step %d, %s: %s", w.Step, w.Label, w.Message)
}

// Verify checks the records of a run against the runbook's text, and returns the hash of the last
// record. The error is a *WrongRecord. Who rewrites all records is found out by the hash that the
// chat was told.
func Verify(e Export) (string, error) {
	if e.Version != runVersion {
		return "", &WrongRecord{Message: fmt.Sprintf("version %d is unknown", e.Version)}
	}
	book, mistakes, _ := Parse(e.Runbook.Text)
	if len(mistakes) > 0 || book.Text != e.Runbook.Text || book.Label != e.Runbook.Label {
		return "", &WrongRecord{Message: "the runbook's text or label was changed"}
	}
	v := verifier{Export: e, book: book, previous: Genesis}
	for _, s := range book.Steps {
		if s.asksProof() {
			v.asked = append(v.asked, s)
		}
	}
	if wrong := v.verify(); wrong != nil {
		return "", wrong
	}
	return v.previous, nil
}

// Verify checks the records of a run that is stored. Of an open run it also finds the last record
// dropped.
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
			return "", &WrongRecord{a.Step, r.book.Steps[a.Step-1].Label, "its record is not the one that was accepted"}
		}
		recorded++
	}
	if recorded < len(r.Records) {
		return "", &WrongRecord{Message: "there are more records than steps that were accepted"}
	}
	return last, nil
}

// verifier follows the chain of an export.
type verifier struct {
	Export
	book     Runbook
	asked    []Step // the steps that ask for a proof
	previous string // the hash of the last record
}

func (v *verifier) verify() *WrongRecord {
	for i, entry := range v.Records {
		if wrong := v.verifyEntry(i, entry); wrong != nil {
			return wrong
		}
		v.previous = entry.ProofHash
	}
	if v.Status == Complete && len(v.Records) < len(v.asked) {
		return blame(v.asked[len(v.Records)], "its record is missing")
	}
	return nil
}

func blame(s Step, message string) *WrongRecord { return &WrongRecord{s.Index, s.Label, message} }

// verifyEntry checks one record: first its hash, then its step, then its place in the chain.
func (v *verifier) verifyEntry(i int, entry Entry) *WrongRecord {
	record, err := entry.Parse()
	if i >= len(v.asked) {
		return &WrongRecord{record.Step, record.Label, "its record was added"}
	}
	step := v.asked[i]
	if hashText(entry.Record) != entry.ProofHash || err != nil {
		return blame(step, "its record was changed: the hash differs")
	}
	if record.Step != step.Index {
		return v.misplaced(i, record)
	}
	if record.Previous != v.previous {
		if i > 0 {
			step = v.asked[i-1]
			return blame(step, fmt.Sprintf("its record was changed: the record of step %d, %s, follows another one", record.Step, record.Label))
		}
		return blame(step, "its record is not the first one of the run")
	}
	if err := v.compare(record, step); err != nil {
		return blame(step, "its record was changed: "+err.Error())
	}
	return nil
}

// misplaced says what is wrong with a record that stands where another one is expected.
func (v *verifier) misplaced(i int, record Record) *WrongRecord {
	if record.Step < v.asked[i].Index {
		return &WrongRecord{record.Step, record.Label, "its record was added or moved"}
	}
	for _, entry := range v.Records[i+1:] {
		if later, err := entry.Parse(); err == nil && later.Step == v.asked[i].Index {
			return blame(v.asked[i], "its record was moved")
		}
	}
	if !v.asks(record.Step) {
		return &WrongRecord{record.Step, record.Label, "its record was added: the step asks for no proof"}
	}
	return blame(v.asked[i], "its record is missing")
}

func (v *verifier) asks(step int) bool {
	return step >= 1 && step <= len(v.book.Steps) && v.book.Steps[step-1].asksProof()
}

// compare checks that a record is one of this run, about this step.
func (v *verifier) compare(r Record, s Step) error {
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

// compareStatus checks that the recorded solution is what the status says.
func compareStatus(r Record, s Step) error {
	why := s.Challenge.judge(r.solution())
	var fits bool
	switch r.Status {
	case Succeeded:
		fits = why == nil && approvers(r) >= s.Challenge.Approvals
	case FailedProof:
		fits = why != nil && why.code == CommandFailed && !s.Challenge.Required
	case SkippedProof:
		fits = r.Reason != "" && len(r.solution()) == 1 // the type alone
	}
	if !fits {
		return errors.New("the status is not what the solution says")
	}
	return nil
}

// approvers returns how many people a record names.
func approvers(r Record) int {
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
