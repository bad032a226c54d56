package runbooks

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// verification is the result of verifying a run, as JSON.
type verification struct {
	Run       string         `json:"run"`
	Status    runbook.Status `json:"status"`
	Valid     bool           `json:"valid"` // and as demanded
	Records   int            `json:"records"`
	ProofHash string         `json:"proof_hash,omitempty"` // of the last record
	TextHash  string         `json:"runbook_hash,omitempty"`
	Proofs    []proof        `json:"proofs,omitempty"`
	Forgotten []int          `json:"forgotten,omitempty"` // the steps whose records were removed
	SignedBy  string         `json:"signed_by,omitempty"` // the key of an export
	Step      int            `json:"step,omitempty"`      // whose record is wrong or missing
	Label     string         `json:"label,omitempty"`
	Message   string         `json:"message,omitempty"`
}

// proof says whose word the proof of a step is.
type proof struct {
	Step   int          `json:"step"`
	Label  string       `json:"label"`
	Status string       `json:"status"`
	Word   runbook.Word `json:"word"`
	By     string       `json:"by"`
}

// Verification is what is verified besides the records, and where the result is printed.
type Verification struct {
	// Key returns the key that must have signed an export.
	Key      func() (ed25519.PublicKey, error)
	Complete bool         // the run must have ended as complete
	Require  runbook.Word // the weakest word that is accepted as a proof; "": any
	Hash     string       // the hash of the last record or of the runbook's text; "": any
	Out      io.Writer
	JSON     bool
}

// The sentences about a run that is not accepted: its ID and the reason are inserted.
const (
	invalidRecords   = "The records of run %s are not valid: %s.\n"
	invalidSignature = "The export of run %s is not accepted: %s.\n"
	unmetDemands     = "The records of run %s are valid, but %s.\n"
)

// maxExport is the largest export that is read, in bytes: far more than the records of the longest
// runbook.
const maxExport = 1 << 30

// VerifyFile verifies an export and its signature. The error has exit status 1 if something is
// wrong.
func (v Verification) VerifyFile(path string) error {
	text, err := runbook.ReadFile(path, maxExport)
	if err != nil {
		return err
	}
	e, err := runbook.DecodeExport(text)
	if err == nil {
		_, err = runbook.Verify(e)
	}
	if err != nil {
		return v.print(e, invalidRecords, err)
	}
	return v.print(e, invalidSignature, v.checkSignature(e))
}

func (v Verification) checkSignature(e runbook.Export) error {
	key, err := v.Key()
	if err != nil && len(e.Signature) > 0 {
		return fmt.Errorf("its signature by %s cannot be checked without the bot's key; "+
			"add --key KEY, which \"nanobot runbook key\" prints, or --config: %w", runbook.FormatKey(e.PublicKey), err)
	}
	return e.CheckSignature(key)
}

// VerifyRun verifies a stored run. The error has exit status 1 if something is wrong.
func (v Verification) VerifyRun(ctx context.Context, runs runbook.Runs, id string) error {
	r, err := runs.Load(ctx, id)
	if errors.Is(err, runbook.ErrNoRun) {
		return fmt.Errorf("there is no run %s, and no file of that name", id)
	}
	if err == nil {
		_, err = r.Verify()
	}
	e := r.Export()
	e.Run = id
	return v.print(e, invalidRecords, err)
}

// checkDemands returns which demand a valid run does not meet.
func (v Verification) checkDemands(e runbook.Export, proofs []proof) error {
	last := e.LastHash()
	switch {
	case v.Complete && e.Status != runbook.Complete:
		return fmt.Errorf("the run is %s, and not complete", e.Status)
	case (v.Complete || v.Require != "") && len(e.ForgottenSteps()) > 0:
		return errors.New(describeForgotten(e.ForgottenSteps()))
	case v.Hash != "" && !strings.EqualFold(v.Hash, last) && !strings.EqualFold(v.Hash, e.TextHash()):
		return fmt.Errorf("the last hash is %s and the hash of the runbook's text is %s, and not %s",
			last, e.TextHash(), v.Hash)
	}
	if v.Require != "" && (len(proofs) == 0 || e.Status != runbook.Complete) {
		return fmt.Errorf("%d of its steps have a proof and the run is %s; --require needs the proofs of a complete run",
			len(proofs), e.Status)
	}
	for _, p := range proofs {
		if v.Require == "" || p.Status != runbook.SkippedProof && p.Word.AtLeast(v.Require) {
			continue
		}
		why := fmt.Sprintf("its proof is the word of the %s, and at least that of the %s is required", p.Word, v.Require)
		if p.Status == runbook.SkippedProof {
			why = "it was skipped, and a proof is required"
		}
		return &runbook.RecordError{Step: p.Step, Label: p.Label, Message: why}
	}
	return nil
}

func listProofs(e runbook.Export) (proofs []proof) {
	for _, entry := range e.Records {
		if r, err := entry.Parse(); err == nil {
			proofs = append(proofs, proof{r.Step, r.Label, r.Status, r.Word(), r.By})
		}
	}
	return proofs
}

// print prints the result, where err is what is wrong with the records or the signature, and
// refusal the sentence about it.
func (v Verification) print(e runbook.Export, refusal string, err error) error {
	result := verification{Run: e.Run, Status: e.Status, Records: len(e.Records)}
	if err == nil {
		result.ProofHash, result.TextHash, result.Proofs = e.LastHash(), e.TextHash(), listProofs(e)
		result.Forgotten, result.SignedBy = e.ForgottenSteps(), runbook.FormatKey(e.PublicKey)
		refusal, err = unmetDemands, v.checkDemands(e, result.Proofs)
	}
	result.Valid = err == nil
	var record *runbook.RecordError
	if errors.As(err, &record) {
		result.Step, result.Label, result.Message = record.Step, record.Label, record.Message
	} else if err != nil {
		result.Message = err.Error()
	}
	var printErr error
	switch {
	case v.JSON:
		printErr = writeLine(v.Out, result)
	case e.Run == "":
		_, printErr = fmt.Fprintf(v.Out, "This is not the export of a run: %s.\n", terminal.Clean(err.Error()))
	case err != nil:
		_, printErr = fmt.Fprintf(v.Out, refusal, terminal.Clean(e.Run), terminal.Clean(err.Error()))
	default:
		printErr = printValid(e, result, v.Out)
	}
	if printErr == nil && err != nil {
		printErr = exit.Error{Status: exit.Failed}
	}
	return printErr
}

func printValid(e runbook.Export, v verification, out io.Writer) error {
	fmt.Fprintf(out, "Run %s of %s is %s, and its %s. The last hash is\n%s\n",
		terminal.Clean(e.Run), terminal.Clean(e.Runbook.Label), terminal.Clean(string(e.Status)),
		describeRecords(len(e.Records)), v.ProofHash)
	fmt.Fprintf(out, "The hash of the runbook's text is\n%s\n", v.TextHash)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range v.Proofs {
		fmt.Fprintf(w, "%d\t%s\t%s\tword of the %s", p.Step, terminal.Clean(p.Label), p.Status, p.Word)
		if p.Word == runbook.WordOfPerson {
			fmt.Fprintf(w, " %s", terminal.Clean(p.By))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(v.Forgotten) > 0 {
		fmt.Fprintf(out, "The chain is whole, but %s.\n", describeForgotten(v.Forgotten))
	}
	verb := "are"
	agents := runbook.CountWords(e.Records)[runbook.WordOfAgent]
	if agents == 1 {
		verb = "is"
	}
	_, err := fmt.Fprintf(out, "%d of %d proofs %s the agent's own word.\n", agents, len(v.Proofs), verb)
	if err == nil && v.SignedBy != "" {
		_, err = fmt.Fprintf(out, "The export is signed with the key %s\n", v.SignedBy)
	}
	return err
}

// describeForgotten says which records are forgotten.
func describeForgotten(steps []int) string {
	names := strings.ReplaceAll(strings.Trim(fmt.Sprint(steps), "[]"), " ", ", ")
	return "the records of a person who was forgotten have lost their text: step " + names
}

func describeRecords(records int) string {
	if records == 1 {
		return "record is valid"
	}
	return fmt.Sprintf("%d records are valid", records)
}

// Export prints a run as signed JSON with everything that is needed to verify it.
func Export(ctx context.Context, runs runbook.Runs, id string, out io.Writer) error {
	r, err := runs.Load(ctx, id)
	if errors.Is(err, runbook.ErrNoRun) {
		return fmt.Errorf("there is no run %s", id)
	}
	if err != nil {
		return err
	}
	e, err := runs.Export(ctx, r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, e.Encode())
	return err
}
