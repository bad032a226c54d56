package runbooks

import (
	"context"
	"errors"
	"fmt"
	"io"

	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// verification is the result of verifying a run, as JSON.
type verification struct {
	Run       string         `json:"run"`
	Status    runbook.Status `json:"status"`
	Valid     bool           `json:"valid"`
	Records   int            `json:"records"`
	ProofHash string         `json:"proof_hash,omitempty"` // of the last record
	Step      int            `json:"step,omitempty"`       // whose record is wrong or missing
	Label     string         `json:"label,omitempty"`
	Message   string         `json:"message,omitempty"`
}

// maxExport is the largest export that is read, in bytes: far more than the records of the longest
// runbook.
const maxExport = 1 << 30

// VerifyFile verifies an export. The error has exit status 1 if a record is wrong.
func VerifyFile(path string, p Printing) error {
	text, err := runbook.ReadFile(path, maxExport)
	if err != nil {
		return err
	}
	e, err := runbook.DecodeExport(text)
	last := ""
	if err == nil {
		last, err = runbook.Verify(e)
	}
	return printVerification(e, last, err, p)
}

// VerifyRun verifies a stored run. The error has exit status 1 if a record is wrong.
func VerifyRun(ctx context.Context, runs runbook.Runs, id string, p Printing) error {
	r, err := runs.Load(ctx, id)
	if errors.Is(err, runbook.ErrNoRun) {
		return noRunError(id)
	}
	last := ""
	if err == nil {
		last, err = r.Verify()
	}
	e := r.Export()
	e.Run = id
	return printVerification(e, last, err, p)
}

// Printing says where and how a result is printed.
type Printing struct {
	Out  io.Writer
	JSON bool
}

func printVerification(e runbook.Export, last string, err error, p Printing) error {
	v := verification{Run: e.Run, Status: e.Status, Valid: err == nil, Records: len(e.Records), ProofHash: last}
	var record *runbook.RecordError
	if errors.As(err, &record) {
		v.Step, v.Label, v.Message = record.Step, record.Label, record.Message
	} else if err != nil {
		v.Message = err.Error()
	}
	var printErr error
	switch {
	case p.JSON:
		printErr = writeLine(p.Out, v)
	case e.Run == "":
		_, printErr = fmt.Fprintf(p.Out, "This is not the export of a run: %s.\n", terminal.Clean(err.Error()))
	case err != nil:
		_, printErr = fmt.Fprintf(p.Out, "The records of run %s are not valid: %s.\n", terminal.Clean(e.Run), terminal.Clean(err.Error()))
	default:
		_, printErr = fmt.Fprintf(p.Out, "Run %s of %s is %s, and its %s. The last hash is\n%s\n",
			terminal.Clean(e.Run), terminal.Clean(e.Runbook.Label), terminal.Clean(string(e.Status)), describeRecords(len(e.Records)), last)
	}
	if printErr == nil && err != nil {
		printErr = exit.Error{Status: exit.Failed}
	}
	return printErr
}

func describeRecords(records int) string {
	if records == 1 {
		return "record is valid"
	}
	return fmt.Sprintf("%d records are valid", records)
}

func noRunError(id string) error {
	return fmt.Errorf("there is no run %s, and no file of that name", id)
}

// Export prints a run as JSON with everything that is needed to verify it.
func Export(ctx context.Context, runs runbook.Runs, id string, out io.Writer) error {
	r, err := runs.Load(ctx, id)
	if errors.Is(err, runbook.ErrNoRun) {
		return fmt.Errorf("there is no run %s", id)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, r.Export().Encode())
	return err
}
